/*
 * Fakes CreateSymbolicLinkW, which in Wine 8 says yes and makes nothing (wine: dlls/kernelbase/file.c), by a copy. The kubelet names its current
 * certificate by such a link and renames it (client-go: util/certificate/certificate_store.go, updateSymlink). A hard link cannot be renamed
 * there, since the kubelet holds the other name open. To Lstat a copy is no symbolic link: the first certificate of a name is stored, a
 * rotation to a second one is refused.
 */
#include "hooks.h"

static BOOLEAN WINAPI copyInstead(LPCWSTR link, LPCWSTR target, DWORD flags)
{
    if (flags & SYMBOLIC_LINK_FLAG_DIRECTORY) {
        SetLastError(ERROR_NOT_SUPPORTED);
        return FALSE;
    }
    return (BOOLEAN)CopyFileW(target, link, TRUE);
}

BOOL fakeSymbolicLinks(void)
{
    return redirect("CreateSymbolicLinkW", (void *)copyInstead);
}
