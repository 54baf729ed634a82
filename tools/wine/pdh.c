/*
 * pdh.dll: fakes the performance counters, of which Wine has hardly any. Every counter exists, and has one instance, _Total, whose value is 0.
 * The kubelet starts only with them (kubernetes: pkg/kubelet/winstats/perfcounters.go) and reads no more of them than an array of doubles;
 * github.com/JeffAshton/win_pdh wants the other functions to exist.
 */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <string.h>

/* The headers call it PdhOpenQueryA or PdhOpenQueryW; win_pdh asks for the old name. */
#undef PdhOpenQuery

static const WCHAR instance[] = L"_Total";

__declspec(dllexport) PDH_STATUS WINAPI PdhOpenQuery(LPCWSTR source, DWORD_PTR data, PDH_HQUERY *query)
{
    (void)source;
    (void)data;
    *query = (PDH_HQUERY)1;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY query)
{
    (void)query;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhValidatePathW(LPCWSTR path)
{
    (void)path;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhAddCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR data, PDH_HCOUNTER *counter)
{
    (void)query;
    (void)path;
    (void)data;
    *counter = (PDH_HCOUNTER)1;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhAddEnglishCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR data, PDH_HCOUNTER *counter)
{
    return PdhAddCounterW(query, path, data, counter);
}

__declspec(dllexport) PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY query)
{
    (void)query;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhGetFormattedCounterValue(PDH_HCOUNTER counter, DWORD format, LPDWORD type, PPDH_FMT_COUNTERVALUE value)
{
    (void)counter;
    (void)format;
    if (type)
        *type = 0;
    memset(value, 0, sizeof *value);
    return ERROR_SUCCESS;
}

/* The first call of a caller asks for the size, as the documentation of the real one demands. */
__declspec(dllexport) PDH_STATUS WINAPI PdhGetFormattedCounterArrayW(PDH_HCOUNTER counter, DWORD format, LPDWORD size, LPDWORD count,
                                                                     PPDH_FMT_COUNTERVALUE_ITEM_W items)
{
    DWORD needed = sizeof *items + sizeof instance;

    (void)counter;
    (void)format;
    *count = 1;
    if (*size < needed) {
        *size = needed;
        return PDH_MORE_DATA;
    }
    memset(items, 0, sizeof *items);
    items->szName = memcpy(items + 1, instance, sizeof instance);
    return ERROR_SUCCESS;
}
