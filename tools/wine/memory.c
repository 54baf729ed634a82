/*
 * Fakes GlobalMemoryStatusEx: Wine asks the kernel (sysinfo(2)), whose memory is the host's. FENESTRA_MEMORY_KIB has that of the machine; it is
 * free but for half a gibibyte. Processors need no fake: Wine counts them in /sys, where a machine of the rehearsal has its own.
 */
#include "hooks.h"
#include <stdlib.h>

static const char variable[] = "FENESTRA_MEMORY_KIB";

static BOOL WINAPI machineMemory(LPMEMORYSTATUSEX status)
{
    char text[32] = "0";
    DWORDLONG total, used = 512ULL << 20;

    GetEnvironmentVariableA(variable, text, sizeof text);
    total = strtoull(text, NULL, 10) << 10;
    status->ullTotalPhys = status->ullTotalPageFile = total;
    status->ullAvailPhys = status->ullAvailPageFile = total > used ? total - used : 0;
    status->dwMemoryLoad = total ? (DWORD)(100 - status->ullAvailPhys * 100 / total) : 100;
    status->ullTotalVirtual = status->ullAvailVirtual = 1ULL << 47;
    status->ullAvailExtendedVirtual = 0;
    return TRUE;
}

BOOL fakeMemory(void)
{
    /* Without the variable it is the host's memory. */
    return !GetEnvironmentVariableA(variable, NULL, 0) || redirect("GlobalMemoryStatusEx", (void *)machineMemory);
}
