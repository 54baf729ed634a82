/*
 * Fakes CreateSymbolicLinkW of kernel32.dll, which in Wine 8 says yes and makes nothing (wine: dlls/kernelbase/file.c), by a copy. The kubelet
 * names its current certificate by such a link and renames it (client-go: util/certificate/certificate_store.go, updateSymlink). A hard link
 * cannot be renamed there, since the kubelet holds the other name open. To Lstat a copy is no symbolic link: the first certificate of a name
 * is stored, a rotation to a second one is refused.
 */
#include <windows.h>
#include <string.h>

static BOOLEAN WINAPI copyInstead(LPCWSTR link, LPCWSTR target, DWORD flags)
{
    if (flags & SYMBOLIC_LINK_FLAG_DIRECTORY) {
        SetLastError(ERROR_NOT_SUPPORTED);
        return FALSE;
    }
    return (BOOLEAN)CopyFileW(target, link, TRUE);
}

/* Lets the function begin with a jump to the fake. */
static BOOL redirect(void *function, void *fake)
{
    /* mov rax, fake; jmp rax */
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    DWORD before;

    memcpy(jump + 2, &fake, sizeof fake);
    if (!VirtualProtect(function, sizeof jump, PAGE_EXECUTE_READWRITE, &before))
        return FALSE;
    memcpy(function, jump, sizeof jump);
    return VirtualProtect(function, sizeof jump, before, &before);
}

BOOL fakeSymbolicLinks(void)
{
    HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    FARPROC function = kernel ? GetProcAddress(kernel, "CreateSymbolicLinkW") : NULL;

    return function && redirect((void *)function, (void *)copyInstead);
}
