// A list in a module of its own.
struct list;
struct list *list_new(void);
int list_append(struct list *list, char *text);
char *list_take(struct list *list);
void list_free(struct list *list);
void list_free_items(struct list *list);
