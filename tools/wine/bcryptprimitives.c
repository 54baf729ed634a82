/*
 * bcryptprimitives.dll: fakes ProcessPrng, from which Go takes all its random numbers since 1.22 (go: src/runtime/os_windows.go,
 * loadOptionalSyscalls) and which Wine 8 does not have. The numbers are as good: RtlGenRandom has them from the kernel.
 *
 * The Go runtime loads this library before anything of the program runs, so the other fakes of functions are put in place here, too.
 */
#include "hooks.h"
#include <ntsecapi.h>

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
    return reason != DLL_PROCESS_ATTACH || (fakeSymbolicLinks() && fakeMemory());
}
