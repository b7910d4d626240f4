/* Replaces what matches a pattern in each line of standard input.

   usage: replace [-g] [-i] PATTERN [SUBSTITUTE]

   A pattern is made of
     c        the letter itself
     .        any letter
     [a-z]    one of a set, [^a-z] one that is not in it
     x*       any number of x; x+ at least one; x? one or none
     (x)      a group, which the substitute can name
     ^ and $  the beginning and the end of the line
     \c       the letter, whatever it means otherwise
   In a substitute, & is what matched, \1 to \9 a group, \n and \t a line feed
   and a tabulator. Without a substitute, lines that match are printed.  */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type
{
  LETTER,
  ANY,
  SET,
  BEGIN,
  END,
  OPEN,
  CLOSE
};

enum times
{
  ONCE,
  MAYBE,
  SOME,
  MANY
};

struct part
{
  enum type type;
  enum times times;
  int letter;
  int is_negated;
  int group;
  unsigned char *set;
  struct part *next;
};

struct piece
{
  char *text;
  int group;
  struct piece *next;
};

struct match
{
  const char *start;
  const char *end;
  const char *opened[10];
  const char *closed[10];
};

struct line
{
  char *text;
  size_t used;
  size_t room;
};

#define SET_BYTES 32

static int replace_all;
static int ignore_case;
static int group_count;
static int made_parts;

static void
die (const char *message)
{
  fprintf (stderr, "replace: %s\n", message);
  exit (2);
}

static void *
get (size_t bytes)
{
  void *block = calloc (1, bytes);
  if (block == NULL)
    die ("out of memory");
  return block;
}

static void
free_part (struct part *part)
{
  if (part->set != NULL)
    free (part->set);
  free (part);
}

static void
free_pattern (struct part *part)
{
  while (part != NULL)
    {
      struct part *gone = part;
      part = part->next;
      free_part (gone);
    }
}

static void
free_pieces (struct piece *piece)
{
  while (piece != NULL)
    {
      struct piece *gone = piece;
      piece = piece->next;
      free (gone->text);
      free (gone);
    }
}

static void
add_to_set (unsigned char *set, int letter)
{
  set[(letter & 255) / 8] |= 1u << (letter & 7);
}

static int
is_in_set (const unsigned char *set, int letter)
{
  return set[(letter & 255) / 8] >> (letter & 7) & 1;
}

static int
folded (int letter)
{
  return ignore_case ? tolower (letter & 255) : letter & 255;
}

/* Reads a set behind its bracket; NULL if it does not end.  */
static const char *
read_set (const char *text, struct part *part)
{
  part->type = SET;
  part->set = get (SET_BYTES);
  if (*text == '^')
    {
      part->is_negated = 1;
      text++;
    }
  do
    {
      int first = *text++ & 255;
      int last = first;
      if (first == '\0')
        return NULL;
      if (first == '\\' && *text)
        first = last = *text++ & 255;
      if (*text == '-' && text[1] && text[1] != ']')
        {
          last = text[1] & 255;
          text += 2;
        }
      if (last < first)
        return NULL;
      for (; first <= last; first++)
        {
          add_to_set (part->set, folded (first));
          if (ignore_case)
            add_to_set (part->set, toupper (first));
        }
    }
  while (*text != ']');
  return text + 1;
}

/* Whether a part may be repeated.  */
static int
repeats (const struct part *part)
{
  return part != NULL && part->times == ONCE
         && (part->type == LETTER || part->type == ANY || part->type == SET);
}

/* The parts of a pattern; NULL with a message if it is none.  */
static struct part *
read_pattern (const char *text, const char **message)
{
  struct part *first = NULL;
  struct part **next = &first;
  struct part *last = NULL;
  int open[10];
  int depth = 0;
  const char *start = text;
  *message = NULL;
  while (*text)
    {
      if (*text == '*' || *text == '+' || *text == '?')
        {
          if (!repeats (last))
            {
              *message = "nothing to repeat";
              free_pattern (first);
              return NULL;
            }
          last->times = *text == '*' ? MANY : *text == '+' ? SOME : MAYBE;
          text++;
          continue;
        }
      struct part *part = get (sizeof *part);
      made_parts++;
      *next = part;
      next = &part->next;
      last = part;
      part->times = ONCE;
      if (*text == '^' && text == start)
        {
          part->type = BEGIN;
          text++;
        }
      else if (*text == '$' && text[1] == '\0')
        {
          part->type = END;
          text++;
        }
      else if (*text == '.')
        {
          part->type = ANY;
          text++;
        }
      else if (*text == '[')
        {
          text = read_set (text + 1, part);
          if (text == NULL)
            {
              *message = "a set that does not end";
              free_pattern (first);
              return NULL;
            }
        }
      else if (*text == '(')
        {
          if (group_count == 9)
            {
              *message = "more than nine groups";
              free_pattern (first);
              return NULL;
            }
          part->type = OPEN;
          part->group = ++group_count;
          open[depth++] = part->group;
          text++;
        }
      else if (*text == ')')
        {
          if (depth == 0)
            {
              *message = "a group that is not open";
              free_pattern (first);
              return NULL;
            }
          part->type = CLOSE;
          part->group = open[--depth];
          text++;
        }
      else
        {
          if (*text == '\\' && text[1])
            text++;
          part->type = LETTER;
          part->letter = folded (*text);
          text++;
        }
    }
  if (depth > 0)
    {
      *message = "a group that is not closed";
      free_pattern (first);
      return NULL;
    }
  return first;
}

static struct piece *
piece (char *text, int group)
{
  struct piece *made = get (sizeof *made);
  made->text = text;
  made->group = group;
  return made;
}

/* The pieces of a substitute; NULL with a message if it is none.  */
static struct piece *
read_substitute (const char *text, const char **message)
{
  struct piece *first = NULL;
  struct piece **next = &first;
  char *plain = get (strlen (text) + 1);
  size_t used = 0;
  *message = NULL;
  for (; *text; text++)
    {
      int group = -1;
      if (*text == '&')
        group = 0;
      else if (*text == '\\' && isdigit ((unsigned char) text[1]))
        {
          text++;
          group = *text - '0';
          if (group > group_count)
            {
              *message = "no such group";
              free (plain);
              free_pieces (first);
              return NULL;
            }
        }
      else if (*text == '\\' && text[1])
        {
          text++;
          plain[used++] = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
        }
      else
        plain[used++] = *text;
      if (group < 0)
        continue;
      if (used > 0)
        {
          char *copy = get (used + 1);
          memcpy (copy, plain, used);
          *next = piece (copy, -1);
          next = &(*next)->next;
          used = 0;
        }
      *next = piece (NULL, group);
      next = &(*next)->next;
    }
  if (used > 0)
    {
      plain[used] = '\0';
      *next = piece (plain, -1);
    }
  else
    free (plain);
  return first;
}

/* Whether a part matches the letter at a place.  */
static int
matches_one (const struct part *part, const char *at)
{
  int letter = folded (*at);
  if (*at == '\0')
    return 0;
  switch (part->type)
    {
    case LETTER:
      return letter == part->letter;
    case ANY:
      return 1;
    case SET:
      return is_in_set (part->set, letter) != part->is_negated;
    default:
      return 0;
    }
}

/* Whether the parts match from a place on; fills in where they end.  */
static int
matches (const struct part *part, const char *at, const char *line, struct match *match)
{
  for (; part != NULL; part = part->next)
    {
      switch (part->type)
        {
        case BEGIN:
          if (at != line)
            return 0;
          continue;
        case END:
          if (*at != '\0')
            return 0;
          continue;
        case OPEN:
          match->opened[part->group] = at;
          continue;
        case CLOSE:
          match->closed[part->group] = at;
          continue;
        default:
          break;
        }
      if (part->times == ONCE)
        {
          if (!matches_one (part, at))
            return 0;
          at++;
          continue;
        }
      const char *most = at;
      while (matches_one (part, most))
        {
          most++;
          if (part->times == MAYBE)
            break;
        }
      const char *least = part->times == SOME ? at + 1 : at;
      for (; most >= least; most--)
        if (matches (part->next, most, line, match))
          return 1;
      return 0;
    }
  match->end = at;
  return 1;
}

static void
append (struct line *line, const char *text, size_t bytes)
{
  if (line->used + bytes + 1 > line->room)
    {
      size_t room = 2 * line->room + bytes + 1;
      char *larger = get (room);
      if (line->text != NULL)
        {
          memcpy (larger, line->text, line->used);
          free (line->text);
        }
      line->text = larger;
      line->room = room;
    }
  memcpy (line->text + line->used, text, bytes);
  line->used += bytes;
  line->text[line->used] = '\0';
}

static void
append_pieces (struct line *line, const struct piece *piece, const struct match *match)
{
  for (; piece != NULL; piece = piece->next)
    {
      if (piece->text != NULL)
        append (line, piece->text, strlen (piece->text));
      else if (piece->group == 0)
        append (line, match->start, match->end - match->start);
      else if (match->closed[piece->group] > match->opened[piece->group])
        {
          const char *from = match->opened[piece->group];
          append (line, from, match->closed[piece->group] - from);
        }
    }
}

/* The line with what matches replaced; NULL if nothing does.  */
static char *
replaced (const char *text, const struct part *pattern, const struct piece *pieces)
{
  struct line line = { NULL, 0, 0 };
  struct match match;
  const char *at = text;
  int found = 0;
  for (;;)
    {
      memset (&match, 0, sizeof match);
      match.start = at;
      if ((!found || replace_all) && matches (pattern, at, text, &match))
        {
          found++;
          append_pieces (&line, pieces, &match);
          if (match.end > at)
            {
              at = match.end;
              continue;
            }
        }
      if (*at == '\0')
        break;
      append (&line, at, 1);
      at++;
    }
  if (found == 0)
    {
      free (line.text);
      return NULL;
    }
  if (line.text == NULL)
    append (&line, "", 0);
  return line.text;
}

static int
is_matched (const char *text, const struct part *pattern)
{
  struct match match;
  const char *at;
  memset (&match, 0, sizeof match);
  for (at = text; ; at++)
    {
      if (matches (pattern, at, text, &match))
        return 1;
      if (*at == '\0')
        return 0;
    }
}

/* A line of the input without its end; NULL at the end of it.  */
static char *
read_line (FILE *file)
{
  struct line line = { NULL, 0, 0 };
  int letter = getc (file);
  if (letter == EOF)
    return NULL;
  while (letter != EOF && letter != '\n')
    {
      char one = (char) letter;
      append (&line, &one, 1);
      letter = getc (file);
    }
  if (line.text == NULL)
    append (&line, "", 0);
  return line.text;
}

int
main (int argc, char **argv)
{
  const char *message;
  struct part *pattern;
  struct piece *pieces = NULL;
  char *text;
  int lines = 0;
  int index = 1;
  while (index < argc && argv[index][0] == '-' && argv[index][1] != '\0')
    {
      if (strcmp (argv[index], "-g") == 0)
        replace_all = 1;
      else if (strcmp (argv[index], "-i") == 0)
        ignore_case = 1;
      else
        die ("usage: replace [-g] [-i] PATTERN [SUBSTITUTE]");
      index++;
    }
  if (index >= argc)
    die ("usage: replace [-g] [-i] PATTERN [SUBSTITUTE]");
  pattern = read_pattern (argv[index], &message);
  if (message != NULL)
    {
      fprintf (stderr, "replace: %s\n", message);
      return 2;
    }
  if (index + 1 < argc)
    {
      pieces = read_substitute (argv[index + 1], &message);
      if (message != NULL)
        {
          fprintf (stderr, "replace: %s\n", message);
          free_pattern (pattern);
          return 2;
        }
    }
  while ((text = read_line (stdin)) != NULL)
    {
      if (index + 1 < argc)
        {
          char *changed = replaced (text, pattern, pieces);
          if (changed != NULL)
            lines++;
          puts (changed != NULL ? changed : text);
          free (changed);
        }
      else if (is_matched (text, pattern))
        {
          lines++;
          puts (text);
        }
      free (text);
    }
  free_pieces (pieces);
  free_pattern (pattern);
  return lines == 0;
}
