/* A libnvidia-ml.so.1 for tests: the real binding loads it and calls it, and it answers from a text file.
 *
 * FAKE_NVML_STATE names the file. It is read anew on every call, so that a test can change the box under a running
 * process. One thing a line; a GPU's lines follow its `gpu` line:
 *
 *   driver 550.54.14
 *   generation 1                     another number: the driver was reloaded, who is connected is not any more
 *   fail FUNCTION CODE               the function returns this nvmlReturn_t; -1: it never returns
 *   gpu UUID NAME WITH SPACES
 *   memory TOTAL FREE                bytes
 *   utilisation PERCENT
 *   temperature DEGREES
 *   capability MAJOR MINOR
 *   mig 1
 *   instance INDEX TOTAL FREE UUID NAME WITH SPACES      a MIG instance
 *   instance-compute INDEX PID BYTES
 *   ecc UNCORRECTED                  since the driver was loaded
 *   rows CORRECTABLE UNCORRECTABLE PENDING FAILED        remapped rows
 *   retired PAGES PENDING            retired pages, of older cards
 *   throttle BITS
 *   xid NUMBER CODE                  an Xid error: told once to each set of events in which the GPU is; new: another NUMBER
 *   compute PID BYTES                -1: not available
 *   graphics PID BYTES
 *   gpu-fail FUNCTION CODE           for this GPU; FUNCTION * is every one
 *
 * FAKE_NVML_CALLS names a file that gets a line for each connection that is opened or closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANG = -1 };
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { NOT_LOADED = 9, TIMEOUT = 10 };
enum { MOST_GPUS = 16, MOST_INSTANCES = 7, MOST_PROCESSES = 64, MOST_FAILURES = 32 };
enum { INSTANCE = 1000 }; /* a handle: the index plus one, and for an instance its index plus one times this */

typedef void *device;
typedef struct { char function[64]; int code; } failure;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process;
typedef struct { process item[MOST_PROCESSES]; unsigned count; } processes;

typedef struct {
    char uuid[96], name[96];
    unsigned long long total, free;
    processes compute;
} instance;

typedef struct {
    char uuid[96], name[96];
    unsigned long long total, free;
    int utilisation, temperature, major, minor, mig; /* -1: not supported */
    long long ecc, retired, throttle;
    unsigned xid_number;
    unsigned long long xid; /* 0: none */
    int rows[4], retired_pending; /* rows[0] -1: not supported */
    instance instances[MOST_INSTANCES]; /* without a uuid: there is none */
    processes compute, graphics;
    failure failures[MOST_FAILURES];
    unsigned failure_count;
} gpu;

typedef struct {
    char driver[80];
    int generation;
    gpu gpus[MOST_GPUS];
    unsigned gpu_count;
    failure failures[MOST_FAILURES];
    unsigned failure_count;
} state;

static int connections = 0;
static int connected_generation = -1;

static void add_failure(failure *list, unsigned *count, const char *line, const char *format) {
    if (*count < MOST_FAILURES && sscanf(line, format, list[*count].function, &list[*count].code) == 2) ++*count;
}

static void add_process(processes *list, const char *line, const char *format) {
    long long used;
    if (list->count < MOST_PROCESSES && sscanf(line, format, &list->item[list->count].pid, &used) == 2)
        list->item[list->count++].used = (unsigned long long)used;
}

static gpu *add_gpu(state *now, const char *line) {
    gpu *card = &now->gpus[now->gpu_count];
    if (now->gpu_count == MOST_GPUS || sscanf(line, "gpu %95s %95[^\n]", card->uuid, card->name) != 2) return NULL;
    card->utilisation = card->temperature = card->major = card->minor = card->mig = card->rows[0] = -1;
    card->ecc = card->retired = card->throttle = -1;
    ++now->gpu_count;
    return card;
}

static void add_instance(gpu *card, const char *line) {
    instance found;
    unsigned index, pid;
    long long used;
    memset(&found, 0, sizeof found);
    if (sscanf(line, "instance %u %llu %llu %95s %95[^\n]", &index, &found.total, &found.free, found.uuid, found.name) == 5
        && index < MOST_INSTANCES)
        card->instances[index] = found;
    if (sscanf(line, "instance-compute %u %u %lld", &index, &pid, &used) == 3 && index < MOST_INSTANCES) {
        processes *list = &card->instances[index].compute;
        if (list->count == MOST_PROCESSES) return;
        list->item[list->count].pid = pid;
        list->item[list->count++].used = (unsigned long long)used;
    }
}

static int read_state(state *now) {
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    gpu *card = NULL;
    memset(now, 0, sizeof *now);
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "driver %79s", now->driver);
        sscanf(line, "generation %d", &now->generation);
        add_failure(now->failures, &now->failure_count, line, "fail %63s %d");
        if (!strncmp(line, "gpu ", 4)) card = add_gpu(now, line);
        if (!card) continue;
        sscanf(line, "memory %llu %llu", &card->total, &card->free);
        sscanf(line, "utilisation %d", &card->utilisation);
        sscanf(line, "temperature %d", &card->temperature);
        sscanf(line, "capability %d %d", &card->major, &card->minor);
        sscanf(line, "mig %d", &card->mig);
        sscanf(line, "ecc %lld", &card->ecc);
        sscanf(line, "rows %d %d %d %d", &card->rows[0], &card->rows[1], &card->rows[2], &card->rows[3]);
        sscanf(line, "retired %lld %d", &card->retired, &card->retired_pending);
        sscanf(line, "throttle %lld", &card->throttle);
        sscanf(line, "xid %u %llu", &card->xid_number, &card->xid);
        add_instance(card, line);
        add_process(&card->compute, line, "compute %u %lld");
        add_process(&card->graphics, line, "graphics %u %lld");
        add_failure(card->failures, &card->failure_count, line, "gpu-fail %63s %d");
    }
    fclose(file);
    return 1;
}

static int failure_of(const failure *list, unsigned count, const char *function) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(list[i].function, function) && strcmp(list[i].function, "*")) continue;
        while (list[i].code == HANG) sleep(3600);
        return list[i].code;
    }
    return SUCCESS;
}

static void note(const char *what) {
    const char *path = getenv("FAKE_NVML_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", what);
    fclose(file);
}

/* What every call does first: the state, and whether the caller is connected to this driver. */
static int begin(state *now, const char *function) {
    if (!read_state(now)) return NOT_LOADED;
    if (!connections || connected_generation != now->generation) return UNINITIALIZED;
    return failure_of(now->failures, now->failure_count, function);
}

static int begin_gpu(state *now, device handle, gpu **card, const char *function) {
    int code = begin(now, function);
    size_t number = (size_t)handle % INSTANCE;
    if (code) return code;
    if (number < 1 || number > now->gpu_count) return INVALID_ARGUMENT;
    *card = &now->gpus[number - 1];
    return failure_of((*card)->failures, (*card)->failure_count, function);
}

/* The MIG instance that a handle is of; NULL: it is of a whole GPU. */
static instance *part_of(gpu *card, device handle) {
    size_t number = (size_t)handle / INSTANCE;
    return number ? &card->instances[number - 1] : NULL;
}

#define BEGIN      static state now; int code = begin(&now, __func__); if (code) return code
#define BEGIN_GPU  static state now; gpu *card = NULL; int code = begin_gpu(&now, handle, &card, __func__); if (code) return code

int nvmlInitWithFlags(unsigned flags) {
    static state now;
    (void)flags;
    note("open");
    if (!read_state(&now)) return NOT_LOADED;
    int code = failure_of(now.failures, now.failure_count, __func__);
    if (code) return code;
    connections++;
    connected_generation = now.generation;
    return SUCCESS;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    note("close");
    if (!connections) return UNINITIALIZED;
    connections--;
    return SUCCESS;
}

const char *nvmlErrorString(int code) { return code ? "an error of the fake NVML" : "Success"; }

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    BEGIN;
    snprintf(text, length, "%s", now.driver);
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    BEGIN;
    *count = now.gpu_count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
    device handle = (device)((size_t)index + 1);
    BEGIN_GPU;
    *out = handle;
    return SUCCESS;
}

int nvmlDeviceGetUUID(device handle, char *text, unsigned length) {
    BEGIN_GPU;
    instance *part = part_of(card, handle);
    snprintf(text, length, "%s", part ? part->uuid : card->uuid);
    return SUCCESS;
}

int nvmlDeviceGetName(device handle, char *text, unsigned length) {
    BEGIN_GPU;
    instance *part = part_of(card, handle);
    snprintf(text, length, "%s", part ? part->name : card->name);
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(device handle, unsigned long long total_free_used[3]) {
    BEGIN_GPU;
    instance *part = part_of(card, handle);
    total_free_used[0] = part ? part->total : card->total;
    total_free_used[1] = part ? part->free : card->free;
    total_free_used[2] = total_free_used[0] - total_free_used[1];
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(device handle, unsigned gpu_memory[2]) {
    BEGIN_GPU;
    if (card->utilisation < 0 || part_of(card, handle)) return NOT_SUPPORTED;
    gpu_memory[0] = gpu_memory[1] = (unsigned)card->utilisation;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(device handle, unsigned sensor, unsigned *degrees) {
    BEGIN_GPU;
    if (sensor || card->temperature < 0) return NOT_SUPPORTED;
    *degrees = (unsigned)card->temperature;
    return SUCCESS;
}

int nvmlDeviceGetTemperatureV(device handle, int version_sensor_degrees[3]) {
    BEGIN_GPU;
    if (version_sensor_degrees[1] || card->temperature < 0) return NOT_SUPPORTED;
    version_sensor_degrees[2] = card->temperature;
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(device handle, int *major, int *minor) {
    BEGIN_GPU;
    if (card->major < 0) return NOT_SUPPORTED;
    *major = card->major;
    *minor = card->minor;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(device handle, unsigned *current, unsigned *pending) {
    BEGIN_GPU;
    if (card->mig < 0) return NOT_SUPPORTED;
    *current = *pending = (unsigned)card->mig;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(device handle, unsigned *count) {
    BEGIN_GPU;
    *count = card->mig > 0 ? MOST_INSTANCES : 0;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device handle, unsigned index, device *out) {
    BEGIN_GPU;
    if (index >= MOST_INSTANCES || !card->instances[index].uuid[0]) return NOT_FOUND;
    *out = (device)((size_t)handle + (index + 1) * (size_t)INSTANCE);
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(device handle, unsigned type, unsigned counter, unsigned long long *count) {
    BEGIN_GPU;
    if (card->ecc < 0 || type != 1 || counter) return NOT_SUPPORTED; /* uncorrected, volatile */
    *count = (unsigned long long)card->ecc;
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(device handle, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
                              unsigned *failed) {
    BEGIN_GPU;
    if (card->rows[0] < 0) return NOT_SUPPORTED;
    *correctable = (unsigned)card->rows[0];
    *uncorrectable = (unsigned)card->rows[1];
    *pending = (unsigned)card->rows[2];
    *failed = (unsigned)card->rows[3];
    return SUCCESS;
}

int nvmlDeviceGetRetiredPages(device handle, unsigned cause, unsigned *count, unsigned long long *addresses) {
    BEGIN_GPU;
    if (card->retired < 0) return NOT_SUPPORTED;
    unsigned room = *count, pages = cause == 1 ? (unsigned)card->retired : 0; /* all of them for double-bit errors */
    *count = pages;
    if (room < pages) return INSUFFICIENT_SIZE;
    if (addresses) memset(addresses, 0, pages * sizeof *addresses);
    return SUCCESS;
}

int nvmlDeviceGetRetiredPagesPendingStatus(device handle, unsigned *pending) {
    BEGIN_GPU;
    if (card->retired < 0) return NOT_SUPPORTED;
    *pending = (unsigned)card->retired_pending;
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(device handle, unsigned long long *reasons) {
    BEGIN_GPU;
    if (card->throttle < 0) return NOT_SUPPORTED;
    *reasons = (unsigned long long)card->throttle;
    return SUCCESS;
}

static int list_processes(const processes *list, unsigned *count, process *out) {
    unsigned room = *count;
    *count = list->count;
    if (room < list->count) return INSUFFICIENT_SIZE;
    if (list->count) memcpy(out, list->item, list->count * sizeof *out);
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device handle, unsigned *count, process *out) {
    BEGIN_GPU;
    instance *part = part_of(card, handle);
    return list_processes(part ? &part->compute : &card->compute, count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(device handle, unsigned *count, process *out) {
    BEGIN_GPU;
    if (part_of(card, handle)) return NOT_SUPPORTED;
    return list_processes(&card->graphics, count, out);
}

/* One set of events: the tests need no more. What happened before a GPU was registered is not told. */
typedef struct { device handle; unsigned long long type, data; unsigned gpu_instance, compute_instance; } event;
enum { XID_EVENT = 8 };
static int is_registered[MOST_GPUS];
static unsigned told[MOST_GPUS];

int nvmlEventSetCreate(void **set) {
    BEGIN;
    memset(is_registered, 0, sizeof is_registered);
    *set = is_registered;
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(device handle, unsigned long long types, void *set) {
    BEGIN_GPU;
    if (set != is_registered || types != XID_EVENT) return INVALID_ARGUMENT;
    is_registered[card - now.gpus] = 1;
    told[card - now.gpus] = card->xid ? card->xid_number : 0;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, event *out, unsigned milliseconds) {
    BEGIN;
    if (set != is_registered || milliseconds) return INVALID_ARGUMENT;
    for (unsigned i = 0; i < now.gpu_count; i++) {
        if (!is_registered[i] || !now.gpus[i].xid || now.gpus[i].xid_number == told[i]) continue;
        told[i] = now.gpus[i].xid_number;
        memset(out, 0, sizeof *out);
        out->handle = (device)((size_t)i + 1);
        out->type = XID_EVENT;
        out->data = now.gpus[i].xid;
        return SUCCESS;
    }
    return TIMEOUT;
}

int nvmlEventSetFree(void *set) { return set == is_registered ? SUCCESS : INVALID_ARGUMENT; }
