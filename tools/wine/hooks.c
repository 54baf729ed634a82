/* Puts fakes of single functions in place of Wine's, in the memory of the process. */
#include "hooks.h"
#include <string.h>

BOOL redirect(const char *function, void *fake)
{
    /* mov rax, fake; jmp rax */
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    void *place = kernel ? (void *)GetProcAddress(kernel, function) : NULL;
    DWORD before;

    memcpy(jump + 2, &fake, sizeof fake);
    if (!place || !VirtualProtect(place, sizeof jump, PAGE_EXECUTE_READWRITE, &before))
        return FALSE;
    memcpy(place, jump, sizeof jump);
    return VirtualProtect(place, sizeof jump, before, &before);
}
