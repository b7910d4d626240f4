// What other files decide: values that nobody writes, and one that somebody does.
const int always = 1;
int usually = 1;
int mode = 0;
static int level = 3;

int get_level(void)
{
    return level;
}

void set_mode(int value)
{
    mode = value;
}
