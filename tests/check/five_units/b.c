int c(char *p, int how);
int c_make(char **out, int how);

int b(char *p, int how)
{
    return c(p, how);
}

int b_make(char **out, int how)
{
    return c_make(out, how) ? -1 : 0;
}
