#include <windows.h>

/* Lets a function of kernel32.dll begin with a jump to its fake. */
BOOL redirect(const char *function, void *fake);

BOOL fakeSymbolicLinks(void);
BOOL fakeMemory(void);
