/*
 * bcryptprimitives.dll: fakes ProcessPrng, from which Go takes all its random numbers since 1.22 (go: src/runtime/os_windows.go,
 * loadOptionalSyscalls) and which Wine has since 9.0 only. The numbers are as good: Wine fills RtlGenRandom's from the kernel.
 *
 * The Go runtime loads this library before anything of the program runs, so it is also where symbolicLink.c is put in place.
 */
#include <windows.h>
#include <ntsecapi.h>

BOOL fakeSymbolicLinks(void);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    while (size > 0) {
        ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
        if (!RtlGenRandom(data, part))
            return FALSE;
        data += part;
        size -= part;
    }
    return TRUE;
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
    (void)instance;
    (void)reserved;
    return reason != DLL_PROCESS_ATTACH || fakeSymbolicLinks();
}
