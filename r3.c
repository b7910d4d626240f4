#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
int dial(struct addrinfo *aitop)
{
	int sock = -1; struct addrinfo *ai;
	for (ai = aitop; ai; ai = ai->ai_next) {
		sock = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);
		if (sock == -1) continue;
		if (connect(sock, ai->ai_addr, ai->ai_addrlen) == -1) { close(sock); continue; }
		break;
	}
	if (!ai) return -1;
	return sock;
}
