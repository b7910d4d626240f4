/* A sheet of cells: reads commands from standard input or a file, one a line.

     A1 = 2 * (B2 + 3)    sets a cell
     print A1             prints the value of a cell
     show A1              prints its formula
     clear A1             makes it empty
     sum A1 B3            prints the sum of all cells of a rectangle
     copy A1 B3           copies a formula
     name total A1        gives a cell a name, which formulas may use

   usage: cells [-q] [FILE]  */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type
{
  NUMBER,
  CELL,
  NAMED,
  NEGATION,
  OPERATION
};

struct tree
{
  enum type type;
  long value;
  int column;
  int row;
  char operator;
  char *name;
  struct tree *left;
  struct tree *right;
};

struct name
{
  char *text;
  int column;
  int row;
  struct name *next;
};

#define COLUMNS 4
#define ROWS 8

enum state
{
  UNKNOWN,
  WORKING,
  KNOWN
};

struct cell
{
  struct tree *formula;
  long value;
  enum state state;
};

static struct cell cells[COLUMNS][ROWS];
static struct name *names;
static const char *at;
static int errors;
static int is_quiet;
static int line_number;

static void
complain (const char *message)
{
  errors++;
  if (!is_quiet)
    fprintf (stderr, "line %d: %s\n", line_number, message);
}

static void *
get (size_t bytes)
{
  void *block = calloc (1, bytes);
  if (block == NULL)
    {
      fprintf (stderr, "cells: out of memory\n");
      exit (2);
    }
  return block;
}

static char *
copy_text (const char *text, size_t bytes)
{
  char *copy = get (bytes + 1);
  memcpy (copy, text, bytes);
  copy[bytes] = '\0';
  return copy;
}

static struct tree *
tree (enum type type, struct tree *left, struct tree *right)
{
  struct tree *made = get (sizeof *made);
  made->type = type;
  made->left = left;
  made->right = right;
  return made;
}

static void
free_tree (struct tree *tree)
{
  if (tree == NULL)
    return;
  free_tree (tree->left);
  free_tree (tree->right);
  free (tree->name);
  free (tree);
}

static struct tree *
copy_tree (const struct tree *from)
{
  if (from == NULL)
    return NULL;
  struct tree *copy = tree (from->type, NULL, NULL);
  copy->value = from->value;
  copy->column = from->column;
  copy->row = from->row;
  copy->operator = from->operator;
  if (from->name != NULL)
    copy->name = copy_text (from->name, strlen (from->name));
  copy->left = copy_tree (from->left);
  copy->right = copy_tree (from->right);
  return copy;
}

static void
skip_spaces (void)
{
  while (*at == ' ' || *at == '\t')
    at++;
}

/* The end of a word that begins here.  */
static const char *
word_end (void)
{
  const char *end = at;
  while (isalnum ((unsigned char) *end))
    end++;
  return end;
}

/* Reads the name of a cell; 0 if there is none.  */
static int
read_cell (int *column, int *row)
{
  skip_spaces ();
  const char *end = word_end ();
  if (end - at != 2 || at[0] < 'A' || at[0] >= 'A' + COLUMNS)
    return 0;
  if (at[1] < '1' || at[1] >= '1' + ROWS)
    return 0;
  *column = at[0] - 'A';
  *row = at[1] - '1';
  at = end;
  return 1;
}

static struct name *
find_name (const char *text)
{
  struct name *name;
  for (name = names; name != NULL; name = name->next)
    if (strcmp (name->text, text) == 0)
      return name;
  return NULL;
}

static struct tree *read_sum (void);

/* A number, a cell, a name, or something in parentheses.  */
static struct tree *
read_value (void)
{
  struct tree *made;
  int column;
  int row;
  skip_spaces ();
  if (*at == '-')
    {
      at++;
      made = read_value ();
      return made == NULL ? NULL : tree (NEGATION, made, NULL);
    }
  if (*at == '(')
    {
      at++;
      made = read_sum ();
      if (made == NULL)
        return NULL;
      skip_spaces ();
      if (*at != ')')
        {
          complain ("a parenthesis is not closed");
          free_tree (made);
          return NULL;
        }
      at++;
      return made;
    }
  if (isdigit ((unsigned char) *at))
    {
      long value = 0;
      while (isdigit ((unsigned char) *at))
        value = value * 10 + (*at++ - '0');
      made = tree (NUMBER, NULL, NULL);
      made->value = value;
      return made;
    }
  if (read_cell (&column, &row))
    {
      made = tree (CELL, NULL, NULL);
      made->column = column;
      made->row = row;
      return made;
    }
  const char *end = word_end ();
  if (end == at)
    {
      complain ("a value is missing");
      return NULL;
    }
  made = tree (NAMED, NULL, NULL);
  made->name = copy_text (at, end - at);
  at = end;
  return made;
}

static struct tree *
read_product (void)
{
  struct tree *left = read_value ();
  while (left != NULL)
    {
      skip_spaces ();
      if (*at != '*' && *at != '/' && *at != '%')
        break;
      char operator = *at++;
      struct tree *right = read_value ();
      if (right == NULL)
        {
          free_tree (left);
          return NULL;
        }
      left = tree (OPERATION, left, right);
      left->operator = operator;
    }
  return left;
}

static struct tree *
read_sum (void)
{
  struct tree *left = read_product ();
  while (left != NULL)
    {
      skip_spaces ();
      if (*at != '+' && *at != '-')
        break;
      char operator = *at++;
      struct tree *right = read_product ();
      if (right == NULL)
        {
          free_tree (left);
          return NULL;
        }
      left = tree (OPERATION, left, right);
      left->operator = operator;
    }
  return left;
}

static int compute_cell (int column, int row, long *value);

static int
compute (const struct tree *tree, long *value)
{
  long left;
  long right;
  struct name *name;
  switch (tree->type)
    {
    case NUMBER:
      *value = tree->value;
      return 1;
    case CELL:
      return compute_cell (tree->column, tree->row, value);
    case NAMED:
      name = find_name (tree->name);
      if (name == NULL)
        {
          complain ("no such name");
          return 0;
        }
      return compute_cell (name->column, name->row, value);
    case NEGATION:
      if (!compute (tree->left, value))
        return 0;
      *value = -*value;
      return 1;
    case OPERATION:
      break;
    }
  if (!compute (tree->left, &left) || !compute (tree->right, &right))
    return 0;
  switch (tree->operator)
    {
    case '+':
      *value = left + right;
      return 1;
    case '-':
      *value = left - right;
      return 1;
    case '*':
      *value = left * right;
      return 1;
    default:
      if (right == 0)
        {
          complain ("division by zero");
          return 0;
        }
      *value = tree->operator == '/' ? left / right : left % right;
      return 1;
    }
}

static int
compute_cell (int column, int row, long *value)
{
  struct cell *cell = &cells[column][row];
  *value = 0;
  if (cell->formula == NULL)
    return 1;
  if (cell->state == WORKING)
    {
      complain ("a cell depends on itself");
      return 0;
    }
  if (cell->state == UNKNOWN)
    {
      cell->state = WORKING;
      int is_known = compute (cell->formula, &cell->value);
      cell->state = is_known ? KNOWN : UNKNOWN;
      if (!is_known)
        return 0;
    }
  *value = cell->value;
  return 1;
}

/* A change of one cell changes others.  */
static void
forget_values (void)
{
  int column;
  int row;
  for (column = 0; column < COLUMNS; column++)
    for (row = 0; row < ROWS; row++)
      cells[column][row].state = UNKNOWN;
}

/* The text of a formula, with all its parentheses.  */
static char *
formula_text (const struct tree *tree)
{
  char *left = tree->left == NULL ? NULL : formula_text (tree->left);
  char *right = tree->right == NULL ? NULL : formula_text (tree->right);
  size_t bytes = 32 + (left ? strlen (left) : 0) + (right ? strlen (right) : 0)
                 + (tree->name ? strlen (tree->name) : 0);
  char *text = get (bytes);
  switch (tree->type)
    {
    case NUMBER:
      snprintf (text, bytes, "%ld", tree->value);
      break;
    case CELL:
      snprintf (text, bytes, "%c%d", 'A' + tree->column, tree->row + 1);
      break;
    case NAMED:
      snprintf (text, bytes, "%s", tree->name);
      break;
    case NEGATION:
      snprintf (text, bytes, "-%s", left);
      break;
    case OPERATION:
      snprintf (text, bytes, "(%s %c %s)", left, tree->operator, right);
      break;
    }
  free (left);
  free (right);
  return text;
}

static void
set_formula (int column, int row, struct tree *formula)
{
  free_tree (cells[column][row].formula);
  cells[column][row].formula = formula;
  forget_values ();
}

static void
set_command (int column, int row)
{
  struct tree *formula = read_sum ();
  if (formula == NULL)
    return;
  skip_spaces ();
  if (*at != '\0')
    {
      complain ("something behind the formula");
      free_tree (formula);
      return;
    }
  set_formula (column, row, formula);
}

static void
name_command (void)
{
  int column;
  int row;
  skip_spaces ();
  const char *end = word_end ();
  if (end == at)
    {
      complain ("a name is missing");
      return;
    }
  char *text = copy_text (at, end - at);
  at = end;
  if (!read_cell (&column, &row))
    {
      complain ("a cell is missing");
      free (text);
      return;
    }
  struct name *name = find_name (text);
  if (name != NULL)
    free (text);
  else
    {
      name = get (sizeof *name);
      name->text = text;
      name->next = names;
      names = name;
    }
  name->column = column;
  name->row = row;
  forget_values ();
}

static void
sum_command (void)
{
  int column;
  int row;
  int last_column;
  int last_row;
  long sum = 0;
  long value;
  if (!read_cell (&column, &row) || !read_cell (&last_column, &last_row))
    {
      complain ("a cell is missing");
      return;
    }
  if (last_column < column || last_row < row)
    {
      complain ("the rectangle is empty");
      return;
    }
  long *sums = get ((last_row - row + 1) * sizeof *sums);
  int first_row = row;
  for (; row <= last_row; row++)
    {
      int one;
      for (one = column; one <= last_column; one++)
        {
          if (!compute_cell (one, row, &value))
            {
              free (sums);
              return;
            }
          sums[row - first_row] += value;
        }
    }
  for (row = first_row; row <= last_row; row++)
    sum += sums[row - first_row];
  free (sums);
  printf ("%ld\n", sum);
}

/* Commands that begin with a word and name a cell.  */
static void
cell_command (const char *word)
{
  int column;
  int row;
  int to_column;
  int to_row;
  long value;
  if (!read_cell (&column, &row))
    {
      complain ("a cell is missing");
      return;
    }
  struct tree *formula = cells[column][row].formula;
  if (strcmp (word, "print") == 0)
    {
      if (compute_cell (column, row, &value))
        printf ("%ld\n", value);
    }
  else if (strcmp (word, "show") == 0)
    {
      char *text = formula == NULL ? NULL : formula_text (formula);
      puts (text == NULL ? "empty" : text);
      free (text);
    }
  else if (strcmp (word, "clear") == 0)
    set_formula (column, row, NULL);
  else if (strcmp (word, "copy") == 0)
    {
      if (!read_cell (&to_column, &to_row))
        complain ("a cell is missing");
      else if (to_column != column || to_row != row)
        set_formula (to_column, to_row, copy_tree (formula));
    }
  else
    complain ("no such command");
}

static void
command (const char *line)
{
  int column;
  int row;
  at = line;
  skip_spaces ();
  if (*at == '\0' || *at == '#')
    return;
  if (read_cell (&column, &row))
    {
      skip_spaces ();
      if (*at != '=')
        {
          complain ("= is missing");
          return;
        }
      at++;
      set_command (column, row);
      return;
    }
  const char *end = word_end ();
  char *word = copy_text (at, end - at);
  at = end;
  if (strcmp (word, "name") == 0)
    name_command ();
  else if (strcmp (word, "sum") == 0)
    sum_command ();
  else
    cell_command (word);
  free (word);
}

static void
free_all (void)
{
  int column;
  int row;
  for (column = 0; column < COLUMNS; column++)
    {
      for (row = 0; row < ROWS; row++)
        {
          free_tree (cells[column][row].formula);
          cells[column][row].formula = NULL;
        }
    }
  while (names != NULL)
    {
      struct name *gone = names;
      names = gone->next;
      free (gone->text);
      free (gone);
    }
}

int
main (int argc, char **argv)
{
  FILE *file = stdin;
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  int index = 1;
  if (index < argc && strcmp (argv[index], "-q") == 0)
    {
      is_quiet = 1;
      index++;
    }
  if (index < argc)
    {
      file = fopen (argv[index], "r");
      if (file == NULL)
        {
          fprintf (stderr, "cells: cannot open %s\n", argv[index]);
          return 2;
        }
    }
  while ((length = getline (&line, &room, file)) > 0)
    {
      line_number++;
      if (line[length - 1] == '\n')
        line[length - 1] = '\0';
      command (line);
    }
  free (line);
  free_all ();
  if (file != stdin)
    fclose (file);
  return errors > 0;
}
