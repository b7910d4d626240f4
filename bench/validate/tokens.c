/* A tokenizer for a small language: reads a text from standard input or a
   file, and prints its tokens, or counts them by kind and name.

   usage: tokens [-c] [-k] [-n] [FILE]
     -c  count tokens by kind
     -k  keywords are names too
     -n  number the names in the order in which they are first seen  */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind
{
  END,
  NAME,
  KEYWORD,
  NUMBER,
  TEXT,
  LETTER,
  OPERATOR,
  COMMENT,
  WRONG,
  KINDS
};

static const char *const kind_names[KINDS] = {
  "end", "name", "keyword", "number", "text", "letter", "operator", "comment", "wrong"
};

static const char *const keywords[] = {
  "if", "else", "while", "do", "return", "let", "fn", "struct", NULL
};

/* Longer ones first. */
static const char *const operators[] = {
  "<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "->", "++", "--", "+=", "-=",
  "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "!", "&", "|", "^", "~", "?", ":",
  ";", ",", ".", "(", ")", "[", "]", "{", "}", NULL
};

struct token
{
  enum kind kind;
  int line;
  char *text;
  long value;
  struct token *next;
};

struct symbol
{
  char *name;
  int number;
  int uses;
  struct symbol *next;
};

struct buffer
{
  char *bytes;
  size_t used;
  size_t room;
};

struct reader
{
  FILE *file;
  int line;
  int ahead;
  int has_ahead;
  int depth;
};

#define BUCKETS 16

static struct symbol *symbols[BUCKETS];
static int symbol_count;
static int counts[KINDS];
static int count_only;
static int keywords_are_names;
static int number_names;
static int errors;

static void
die (const char *message)
{
  fprintf (stderr, "tokens: %s\n", message);
  exit (2);
}

static void *
get (size_t bytes)
{
  void *block = malloc (bytes);
  if (block == NULL)
    die ("out of memory");
  return block;
}

static void
buffer_start (struct buffer *buffer)
{
  buffer->room = 16;
  buffer->used = 0;
  buffer->bytes = get (buffer->room);
}

static void
buffer_put (struct buffer *buffer, int byte)
{
  if (buffer->used + 1 >= buffer->room)
    {
      size_t room = buffer->room * 2;
      char *bytes = get (room);
      memcpy (bytes, buffer->bytes, buffer->used);
      free (buffer->bytes);
      buffer->bytes = bytes;
      buffer->room = room;
    }
  buffer->bytes[buffer->used++] = (char) byte;
  buffer->bytes[buffer->used] = '\0';
}

/* The text of a buffer, which ends.  */
static char *
buffer_take (struct buffer *buffer)
{
  char *text = get (buffer->used + 1);
  memcpy (text, buffer->bytes, buffer->used);
  text[buffer->used] = '\0';
  free (buffer->bytes);
  buffer->bytes = NULL;
  return text;
}

static int
next (struct reader *reader)
{
  int byte;
  if (reader->has_ahead)
    {
      reader->has_ahead = 0;
      byte = reader->ahead;
    }
  else
    byte = getc (reader->file);
  if (byte == '\n')
    reader->line++;
  return byte;
}

static void
back (struct reader *reader, int byte)
{
  if (byte == '\n')
    reader->line--;
  reader->ahead = byte;
  reader->has_ahead = 1;
}

static unsigned
hash (const char *text)
{
  unsigned sum = 5381;
  while (*text)
    sum = sum * 33 + (unsigned char) *text++;
  return sum % BUCKETS;
}

/* The symbol of a name, which is made if it is new.  */
static struct symbol *
symbol (const char *name)
{
  unsigned bucket = hash (name);
  struct symbol *found;
  for (found = symbols[bucket]; found != NULL; found = found->next)
    if (strcmp (found->name, name) == 0)
      {
        found->uses++;
        return found;
      }
  found = get (sizeof *found);
  found->name = get (strlen (name) + 1);
  strcpy (found->name, name);
  found->number = ++symbol_count;
  found->uses = 1;
  found->next = symbols[bucket];
  symbols[bucket] = found;
  return found;
}

static void
free_symbols (void)
{
  int bucket;
  for (bucket = 0; bucket < BUCKETS; bucket++)
    {
      while (symbols[bucket] != NULL)
        {
          struct symbol *gone = symbols[bucket];
          symbols[bucket] = gone->next;
          free (gone->name);
          free (gone);
        }
    }
}

static struct token *
token (enum kind kind, int line, char *text)
{
  struct token *made = get (sizeof *made);
  made->kind = kind;
  made->line = line;
  made->text = text;
  made->value = 0;
  made->next = NULL;
  return made;
}

static void
free_token (struct token *token)
{
  if (token != NULL)
    {
      free (token->text);
      free (token);
    }
}

static int
is_keyword (const char *text)
{
  int index;
  for (index = 0; keywords[index] != NULL; index++)
    if (strcmp (keywords[index], text) == 0)
      return 1;
  return 0;
}

static struct token *
read_name (struct reader *reader, int first)
{
  struct buffer buffer;
  int line = reader->line;
  int byte = first;
  buffer_start (&buffer);
  while (isalnum (byte) || byte == '_')
    {
      buffer_put (&buffer, byte);
      byte = next (reader);
    }
  back (reader, byte);
  char *text = buffer_take (&buffer);
  enum kind kind = NAME;
  if (!keywords_are_names && is_keyword (text))
    kind = KEYWORD;
  return token (kind, line, text);
}

static int
digit (int byte, int base)
{
  int value = -1;
  if (byte >= '0' && byte <= '9')
    value = byte - '0';
  else if (byte >= 'a' && byte <= 'f')
    value = byte - 'a' + 10;
  else if (byte >= 'A' && byte <= 'F')
    value = byte - 'A' + 10;
  return value < base ? value : -1;
}

static struct token *
read_number (struct reader *reader, int first)
{
  struct buffer buffer;
  int line = reader->line;
  int byte = first;
  int base = 10;
  long value = 0;
  buffer_start (&buffer);
  if (byte == '0')
    {
      buffer_put (&buffer, byte);
      byte = next (reader);
      base = 8;
      if (byte == 'x' || byte == 'X')
        {
          base = 16;
          buffer_put (&buffer, byte);
          byte = next (reader);
          if (digit (byte, base) < 0)
            {
              errors++;
              back (reader, byte);
              return token (WRONG, line, buffer_take (&buffer));
            }
        }
    }
  while (digit (byte, base) >= 0)
    {
      value = value * base + digit (byte, base);
      buffer_put (&buffer, byte);
      byte = next (reader);
    }
  back (reader, byte);
  struct token *made = token (NUMBER, line, buffer_take (&buffer));
  made->value = value;
  return made;
}

/* The byte that an escape stands for; -1 if there is no such escape.  */
static int
escaped (int byte)
{
  switch (byte)
    {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '0':
      return '\0';
    case '\\':
    case '\'':
    case '"':
      return byte;
    default:
      return -1;
    }
}

/* What stands between two quotes.  */
static struct token *
read_quoted (struct reader *reader, int quote)
{
  struct buffer buffer;
  int line = reader->line;
  int length = 0;
  int byte;
  buffer_start (&buffer);
  while ((byte = next (reader)) != quote)
    {
      if (byte == EOF || byte == '\n')
        {
          errors++;
          back (reader, byte);
          return token (WRONG, line, buffer_take (&buffer));
        }
      if (byte == '\\')
        {
          byte = escaped (next (reader));
          if (byte < 0)
            {
              errors++;
              byte = '?';
            }
        }
      buffer_put (&buffer, byte);
      length++;
    }
  char *text = buffer_take (&buffer);
  if (quote == '"')
    return token (TEXT, line, text);
  if (length != 1)
    {
      errors++;
      return token (WRONG, line, text);
    }
  struct token *made = token (LETTER, line, text);
  made->value = (unsigned char) text[0];
  return made;
}

/* A comment up to its end, which may have others inside.  */
static struct token *
read_comment (struct reader *reader, int is_block)
{
  struct buffer buffer;
  int line = reader->line;
  int depth = 1;
  int byte;
  buffer_start (&buffer);
  while (depth > 0)
    {
      byte = next (reader);
      if (byte == EOF)
        {
          if (is_block)
            errors++;
          break;
        }
      if (!is_block && byte == '\n')
        break;
      if (is_block && byte == '*')
        {
          int after = next (reader);
          if (after == '/')
            depth--;
          else
            back (reader, after);
        }
      else if (is_block && byte == '/')
        {
          int after = next (reader);
          if (after == '*')
            depth++;
          else
            back (reader, after);
        }
      if (depth > reader->depth)
        reader->depth = depth;
      buffer_put (&buffer, byte);
    }
  return token (COMMENT, line, buffer_take (&buffer));
}

/* The longest operator that begins with a byte.  */
static struct token *
read_operator (struct reader *reader, int first)
{
  struct buffer buffer;
  int line = reader->line;
  int index;
  int is_longer;
  buffer_start (&buffer);
  buffer_put (&buffer, first);
  do
    {
      int byte = next (reader);
      is_longer = 0;
      if (byte != EOF)
        {
          buffer_put (&buffer, byte);
          for (index = 0; operators[index] != NULL; index++)
            if (strncmp (operators[index], buffer.bytes, buffer.used) == 0)
              is_longer = 1;
        }
      if (!is_longer)
        {
          if (byte != EOF)
            {
              buffer.used--;
              buffer.bytes[buffer.used] = '\0';
            }
          back (reader, byte);
        }
    }
  while (is_longer);
  for (index = 0; operators[index] != NULL; index++)
    if (strcmp (operators[index], buffer.bytes) == 0)
      return token (OPERATOR, line, buffer_take (&buffer));
  errors++;
  return token (WRONG, line, buffer_take (&buffer));
}

static struct token *
read_token (struct reader *reader)
{
  int byte = next (reader);
  while (byte == ' ' || byte == '\t' || byte == '\n')
    byte = next (reader);
  if (byte == EOF)
    {
      char *text = get (1);
      text[0] = '\0';
      return token (END, reader->line, text);
    }
  if (isalpha (byte) || byte == '_')
    return read_name (reader, byte);
  if (isdigit (byte))
    return read_number (reader, byte);
  if (byte == '"' || byte == '\'')
    return read_quoted (reader, byte);
  if (byte == '/')
    {
      int after = next (reader);
      if (after == '/' || after == '*')
        return read_comment (reader, after == '*');
      back (reader, after);
    }
  return read_operator (reader, byte);
}

static void
print_token (const struct token *token)
{
  printf ("%d %s", token->line, kind_names[token->kind]);
  if (token->kind == NUMBER || token->kind == LETTER)
    printf (" %ld", token->value);
  else if (token->kind == NAME && number_names)
    {
      struct symbol *found = symbol (token->text);
      printf (" #%d", found->number);
    }
  else
    printf (" %s", token->text);
  putchar ('\n');
}

static void
print_counts (void)
{
  int kind;
  int bucket;
  for (kind = 1; kind < KINDS; kind++)
    if (counts[kind] > 0)
      printf ("%s %d\n", kind_names[kind], counts[kind]);
  for (bucket = 0; bucket < BUCKETS; bucket++)
    {
      struct symbol *one;
      for (one = symbols[bucket]; one != NULL; one = one->next)
        printf ("  %s %d\n", one->name, one->uses);
    }
}

static void
read_all (FILE *file)
{
  struct reader reader = { file, 1, 0, 0, 0 };
  struct token *first = NULL;
  struct token **last = &first;
  struct token *read;
  do
    {
      read = read_token (&reader);
      counts[read->kind]++;
      if (count_only && read->kind == NAME)
        symbol (read->text);
      *last = read;
      last = &read->next;
    }
  while (read->kind != END);
  while (first != NULL)
    {
      struct token *gone = first;
      if (!count_only && gone->kind != END)
        print_token (gone);
      first = gone->next;
      free_token (gone);
    }
  if (count_only)
    print_counts ();
  if (reader.depth > 2)
    fprintf (stderr, "tokens: comments in comments, %d deep\n", reader.depth);
}

int
main (int argc, char **argv)
{
  FILE *file = stdin;
  int index;
  for (index = 1; index < argc && argv[index][0] == '-' && argv[index][1]; index++)
    {
      const char *letter;
      for (letter = argv[index] + 1; *letter; letter++)
        {
          if (*letter == 'c')
            count_only = 1;
          else if (*letter == 'k')
            keywords_are_names = 1;
          else if (*letter == 'n')
            number_names = 1;
          else
            die ("usage: tokens [-c] [-k] [-n] [FILE]");
        }
    }
  if (index < argc)
    {
      file = fopen (argv[index], "r");
      if (file == NULL)
        die ("cannot open the file");
    }
  read_all (file);
  if (file != stdin)
    fclose (file);
  free_symbols ();
  return errors > 0;
}
