// Frames with a sequence number and an XOR check byte; a frame that is out of order after three good ones is lost.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    unsigned char seq, size;
    unsigned char *body;
    struct frame *next;
};

static struct frame *queue, **tail = &queue;

static int get(unsigned char *to, size_t n) { return fread(to, 1, n, stdin) == n; }

static struct frame *receive(void)
{
    unsigned char head[3], sum = 0;
    if (!get(head, 3) || head[0] != 0x7e)
        return NULL;
    struct frame *f = malloc(sizeof *f); // @order MA
    if (!f)
        return NULL;
    f->seq = head[1];
    f->size = head[2];
    f->next = NULL;
    f->body = malloc(f->size + 1);
    if (!f->body || !get(f->body, f->size + 1)) {
        free(f->body);
        free(f);
        return NULL;
    }
    for (int i = 0; i < f->size; i++)
        sum ^= f->body[i];
    if (sum != f->body[f->size]) {
        free(f->body);
        free(f);
        return NULL;
    }
    return f;
}

int main(void)
{
    struct frame *f;
    unsigned char expected = 1;
    while ((f = receive())) {
        if (f->seq != expected) {
            fprintf(stderr, "expected %d\n", expected);
            if (expected < 3) {
                free(f->body);
                free(f);
            }
            break; // @order LK = must-leak lost
        }
        expected++;
        *tail = f;
        tail = &f->next;
    }
    while (queue) {
        struct frame *next = queue->next;
        free(queue->body);
        free(queue);
        queue = next;
    }
    return 0;
}
