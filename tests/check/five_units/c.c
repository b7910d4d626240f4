int d(char *p, int how);
int d_make(char **out, int how);

int c(char *p, int how)
{
    return d(p, how + 1) - 1;
}

int c_make(char **out, int how)
{
    int error = d_make(out, how);
    return error;
}
