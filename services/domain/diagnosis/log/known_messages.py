"""The messages of TensorFlow, CUDA and others that matter in a training's log. No other module knows them."""

from typing import Final

__all__ = ["CAUSES", "OVERRULED", "SPELLINGS", "Mark"]


class Mark:
    """The meanings of a line, as bits of an int. An enum would take more time than the rest of a large log."""

    # What may end a training.
    DEVICE: Final = 1 << 0  # an allocator refused: the device's, or the host's where the line names it
    REQUEST: Final = 1 << 1  # the allocator's own message, harmless where the caller can do without
    CONTEXT: Final = 1 << 2  # no context could be created on the device
    HANDLE: Final = 1 << 3  # cuDNN, cuBLAS or the like could not be set up
    STARVED: Final = 1 << 4  # … for lack of memory
    EXHAUSTED: Final = 1 << 5  # memory or disk: the line does not say which
    ENDED: Final = 1 << 6  # the line itself reports an end: later lines are of other processes
    HOST: Final = 1 << 7
    DISK: Final = 1 << 8
    KILLED: Final = 1 << 9
    STOPPED: Final = 1 << 10
    ERROR: Final = 1 << 11  # an exception or a crash of any other kind
    OWN: Final = 1 << 12  # … that lack of memory does not cause
    # Consequences, never the cause.
    AFTERMATH: Final = 1 << 13
    CHAINED: Final = 1 << 14  # the next exception is a consequence
    # What looks fatal and is not.
    HARMLESS: Final = 1 << 15
    BACKED_OFF: Final = 1 << 16  # the device had less than requested, and the allocator asked for less
    PRESSURE: Final = 1 << 17  # a large allocation on the host, or many
    # The training went on.
    PROGRESS: Final = 1 << 18
    RETRIED: Final = 1 << 19  # … after a failure, as the program says
    # What surrounds a cause.
    MISMATCH: Final = 1 << 20  # incompatible libraries or drivers
    SEEN: Final = 1 << 21  # a device and its memory, as seen at the start
    DUMP: Final = 1 << 22  # a number of the allocator's dump
    NODE: Final = 1 << 23  # the operation, device or allocator that an error belongs to
    # What may end a training, too.
    FAULT: Final = 1 << 24  # the device itself failed: no memory problem, and often no problem of the job


CAUSES: Final = (
    Mark.DEVICE
    | Mark.CONTEXT
    | Mark.HANDLE
    | Mark.EXHAUSTED
    | Mark.HOST
    | Mark.DISK
    | Mark.KILLED
    | Mark.STOPPED
    | Mark.ERROR
    | Mark.FAULT
)

# Applied in this order: a line with the mark on the left loses the marks on the right.
OVERRULED: Final = (
    (Mark.HARMLESS, CAUSES | Mark.REQUEST | Mark.PROGRESS | Mark.RETRIED),
    (Mark.BACKED_OFF, CAUSES | Mark.REQUEST),
    (Mark.PRESSURE, CAUSES),
    (Mark.DISK, CAUSES & ~Mark.DISK | Mark.REQUEST),
    (Mark.FAULT, CAUSES & ~Mark.FAULT),
    (Mark.CONTEXT, CAUSES & ~Mark.CONTEXT),
    (Mark.HANDLE, CAUSES & ~Mark.HANDLE),
    (Mark.DEVICE, CAUSES & ~Mark.DEVICE & ~Mark.HOST),
    (Mark.HOST, CAUSES & ~Mark.HOST | Mark.REQUEST),
    (Mark.AFTERMATH, Mark.EXHAUSTED | Mark.ERROR),
    (Mark.EXHAUSTED, Mark.ERROR),
    (CAUSES & ~Mark.ERROR, Mark.PROGRESS | Mark.RETRIED),
    (Mark.ERROR, Mark.PROGRESS),
)

# A line has the mark where it contains one of the words (a quick test) and matches the pattern. Both are written like
# shapes: lower case, no digits, no semicolons or question marks.
SPELLINGS: Final[dict[int, tuple[tuple[str, str], ...]]] = {
    Mark.DEVICE: (
        ("oom when", r"\boom when allocating"),
        ("ran out of memory", r"ran out of memory trying to allocate|ran out of memory in memory space"),
        ("failed to allocate", r"failed to allocate memory|failed to allocate [^a-z]*bytes for new constant"),
        ("failed to allocate", r"failed to allocate (?:request for )?[^a-z]*(?:[kmgt]i?b|bytes)\b.* on device"),
        ("dst tensor", r"dst tensor is not initialized"),
        ("allocasync", r"mem(?:ory)?allocasync failed|cudamallocasync.*(?:failed|out of memory)"),
        ("out of memory", r"out of memory (?:while )?(?:trying to |when )?alloc|cuda out of memory"),
        ("out of memory", r"cuda (?:runtime )?(?:error|failure)\W*(?:\w+ )?out of memory|gpu (?:is )?out of memory"),
        ("not possible", r"attempting to (?:reserve|allocate).*that was not possible"),
        ("memoryallocation", r"cudaerrormemoryallocation"),
        ("out_of_memory", r"cuda_error_out_of_memory"),
        ("alloc_failed", r"cu\w+_alloc_failed"),
    ),
    Mark.REQUEST: (("ran out of memory", r"ran out of memory trying to allocate"),),
    Mark.CONTEXT: (
        ("ctxretain|ctxcreate", r"ctx(?:retain|create).*out.of.memory"),
        ("streamexecutor", r"initializing streamexecutor.*out.of.memory"),
        ("initialization|cuinit|cudagetdevice|cudasetdevice", r"(?:init\w*|etdevice)\b.*(?:failed|:).*out.of.memory"),
        ("context", r"(?:creat|alloc)\w* (?:a |the )?(?:\w+ )?context\b.*out.of.memory"),
    ),
    Mark.HANDLE: (
        (
            "cudnn|cublas|cusolver|cusparse|cufft",
            r"(?:could not|failed to|unable to) (?:create|set|get|init\w+) \w* ?cu",
        ),
        ("convolution algorithm|cudnn", r"failed to get convolution algorithm|cudnn failed to initialize"),
        ("dnn library|dnn in stream", r"dnn library (?:is not found|initialization failed)|no dnn in stream ?executor"),
        ("blas", r"without blas support|blas \w*gemm\w* launch failed|blas scal failed"),
        ("algorithm worked", r"no algorithm worked"),
    ),
    # Not "failed call to cuInit": a training on the CPU prints it too, and goes on.
    Mark.FAULT: (
        (
            "illegal|misaligned",
            r"cuda_error_(?:illegal|misaligned)_\w+|an illegal (?:memory access|instruction) was enc",
        ),
        ("launch", r"cuda_error_launch_(?:failed|timeout)|unspecified launch failure|launch timed out and was termi"),
        ("ecc|contained|stack", r"cuda_error_(?:ecc_uncorrectable|contained|hardware_stack_error)|uncorrectable ecc"),
        (
            "kernel image|no_binary|ptx",
            r"no kernel image is available|kernel image is invalid|cuda_error_no_binary_for",
        ),
        ("ptx", r"cuda_error_(?:invalid_ptx|unsupported_ptx_version)|unsupported toolchain|ptx was compiled with an"),
        ("gpu is lost|off the bus|xid", r"gpu is lost|fallen off the bus|nvrm: xid"),
        ("not_ready|not yet init", r"cuda_error_system_not_ready|system not yet initialized"),
        (
            "busy or unav|devices_unav",
            r"devices?(?:\(s\) is/are| are) busy or unavailable|cuda_error_devices_unavailable",
        ),
        ("driver", r"driver version is insufficient|cuda_error_system_driver_mismatch"),
        (
            "implicit init|etdevice()",
            r"(?:implicit initialization|cuda[gs]etdevice\(\)).* failed\W+status: (?!.*memory)",
        ),
    ),
    Mark.STARVED: (("alloc_failed|cublas_status_not_init", r"alloc_failed|cublas_status_not_init"),),
    Mark.DISK: (
        ("no space left", r"^(?!.*inotify).*no space left on (?:the )?device"),
        ("quota|enospc|edquot", r"disk quota exceeded|storage quota|\benospc\b|\bedquot\b"),
        ("disk", r"(?:out of|not enough|insufficient|no) (?:free )?(?:disk )?space (?:left )?on (?:the )?disk"),
        ("disk", r"(?:out of|not enough|insufficient|no free) (?:free )?disk space|\bdisk is full|no free inodes"),
        ("file system|filesystem", r"file ?system (?:is )?full"),
        # The first TensorFlows named the file that could not be written, and not the reason.
        (
            "exhausted",
            r"exhausted(?:error)?(?: \(see above for traceback\))?:\s*"
            r"(?:\.{0,2}/|\w:\\|[^\s:]*(?:tempstate|\.data-|ckpt|tfevents))[^\s:]*\s*$",
        ),
    ),
    Mark.HOST: (
        ("bad_alloc|bad allocation", r"std::bad_alloc|: bad allocation"),
        ("cannot allocate memory", r"cannot allocate memory(?! in s)"),
        ("memoryerror", r"(?<![a-z])(?:_?array|arrow)?memoryerror\b"),
        ("outofmemoryerror", r"java\.lang\.outofmemoryerror|\brayoutofmemoryerror"),
        ("insufficient memory", r"\([^a-z]*insufficient memory\)|insufficient memory for the java"),
        ("allocate", r"unable to allocate .* for an array|can't allocate memory|memory allocation of\s+bytes failed"),
        ("paging file|virtual memory", r"paging file is too small|virtual memory exhausted"),
        ("shared memory", r"insufficient shared memory|out of shared memory"),
        ("memhostalloc|hostalloc|allochost", r"(?:hostalloc|allochost)\w*\b.*out.of.memory"),
        ("out of memory|out-of-memory", r"out of memory: kill|cgroup out of memory|out-of-memory handler"),
        ("libgomp", r"libgomp: out of memory"),
        ("oom", r"\boom[-_ ]?kill|oom_reaper|systemd-oomd|earlyoom"),
        ("memlimit|memory", r"term_memlimit|(?:exceed\w*|over|reach\w*|hit)\b.*\bmemory (?:usage )?limit"),
        ("memory limit", r"memory limit (?:was )?exceeded"),
        ("killed process", r"killed process .*(?:total-vm|anon-rss):"),
        ("kill", r"job killed: .*mem|killed (?:due to|because|by).*memory|memory.*\b(?:being|was|got) killed"),
        ("low on resource|all available ram", r"low on resource: memory|using all available ram"),
    ),
    Mark.ENDED: (
        ("kill", r"out of memory: kill|\boom[-_ ]?kill|job killed|killed (?:due to|because|by)|killed process .*-vm:"),
        ("memlimit|memory limit", r"term_memlimit|memory (?:usage )?limit"),
        ("due to|term_", r"due to (?:time limit|preempt)|term_(?:runlimit|owner|preempt)"),
    ),
    Mark.KILLED: (("killed|sigkill", r"(?:^|[\]):+])\s*killed(?:\s|\.|$)|\bsigkill\b"),),
    Mark.STOPPED: (
        ("keyboardinterrupt|sigint", r"(?:^|[\s:.])keyboardinterrupt\b|by signal[^a-z]*sigint"),
        ("due to|term_|walltime|time limit", r"due to (?:time limit|preempt)|term_(?:runlimit|owner|preempt)"),
        ("walltime|time limit", r"(?:walltime|time limit)\b.*exceeded|exceeded\b.*\b(?:walltime|time limit)"),
        ("terminated|sigterm", r"(?:^|[\]):+])\s*terminated\s*(?:$|python)|\bsigterm\b"),
        ("*** ", r"\*\*\* (?:job|step)\b.*\bcancelled"),
    ),
    Mark.ERROR: (
        (
            "error|exception",
            r"(?:^|[\])>|:]|std(?:err|out) [fp])\s*(?:\w+\.)*\w+(?:error|exception)"
            r"(?: \(see above for traceback\))?(?::|\(|\s*$)",
        ),
        ("check failed|fatal", r"\bcheck failed:|fatal python error|fatal error|fatal exception"),
        ("fault|core dumped", r"segmentation fault|core dumped"),
        ("bus error|illegal inst|terminate called|violation", r"bus error|illegal inst|terminate called|access viol"),
        ("failed at", r"op_requires failed at"),
    ),
    Mark.OWN: (
        (
            "error",
            r"\b(?:key|value|type|index|name|attribute|assertion|zerodivision|notimplemented|syntax|parse)error\b",
        ),
        ("error", r"\b(?:import|modulenotfound|filenotfound|permission|invalidargument|notfound|dataloss)error\b"),
        ("nanloss", r"nanlossduringtrainingerror"),
    ),
    Mark.EXHAUSTED: (
        ("exhausted", r"resource[_ ]?exhausted(?!.*(?:too many open|larger than max|quota exceeded|rate limit))"),
        ("upon_oom|fragmentation", r"report_tensor_allocations_upon_oom|if the cause is memory fragmentation"),
    ),
    Mark.AFTERMATH: (
        ("cancel", r"\bcancelled(?:error)?\b"),
        ("end of sequence|outofrange", r"end of sequence|outofrangeerror.*\bqueue"),
        ("pipe|connection|eof", r"brokenpipe|connection(?:reset|refused|aborted)?error|\beoferror"),
        ("abortederror|unavailableerror|socket closed", r"abortederror|unavailableerror|socket closed"),
        ("process|child", r"calledprocesserror|childfailederror|processpool|processraised"),
        ("systemexit|ignored in|stopiteration|_fallback", r"systemexit|ignored in|stopiteration|_fallbackexception"),
        ("closed|did not stop", r"closed session|queue .*is closed|threads? did not stop"),
        ("could not destroy|polling|synchronize", r"could not destroy cu|error polling for event|not synchronize"),
    ),
    Mark.CHAINED: (("above exception", r"handling of the above exception|above exception was the direct cause"),),
    Mark.HARMLESS: (
        ("not a failure|caller indicates|freed_by_count", r"caller indicates|not a failure|freed_by_count"),
        ("garbage collection", r"garbage collection: deallocate"),
    ),
    Mark.BACKED_OFF: (
        ("failed to alloc", r"failed to alloc(?:ate)? .*(?:from device:|(?:memory|on host):)"),
        ("pinned host memory", r"could not allocate pinned host memory"),
    ),
    Mark.PRESSURE: (
        ("system memory|large alloc", r"exceeds % of (?:free )?system memory|tcmalloc: large alloc"),
        ("shuffle buffer", r"filling up shuffle buffer"),
    ),
    Mark.PROGRESS: (
        ("loss", r"\bloss\w*['\"]?(?:\s*[:=]\s*|\s+)(?:-?\.|nan\b)"),
        ("/step|/batch|it/s|/sec|per-step", r"s/(?:step|batch|it)\b|it/s\b|step/sec|per-step time"),
        ("/s", r"(?:examples|images|samples)/s"),
        ("epoch|step", r"^\W*epoch\s*[:/\[]|^\W*(?:global )?step\s*[:/,\[]|\[[=>.\s]+\] - eta"),
        ("checkpoint", r"(?:saved|wrote|saving) (?:a )?(?:new )?checkpoints?\b"),
    ),
    Mark.RETRIED: (
        ("retry|again|falling", r"\bretry(?:ing)? (?:with|in|the|at|batch|step)|trying again|falling back to"),
        ("skipp|continuing", r"\bskipp(?:ing|ed) (?:this |the )?(?:batch|step|trial|example)|\bcontinuing\b"),
        ("batch", r"(?:reduc|halv|lower|decreas|shrink)\w* (?:the )?(?:micro[- ]?)?batch"),
        ("recovered|caught", r"recovered from|\bcaught\b.*(?:oom|memory|exhausted)"),
    ),
    Mark.MISMATCH: (
        ("compiled with|mismatch", r"but source was compiled with|version mismatch|arch_mismatch"),
        ("driver|dso", r"driver version is insufficient|does not match dso version"),
    ),
    Mark.SEEN: (
        ("totalmemory|freememory|devicememorysize", r"totalmemory:|freememory:|devicememorysize:"),
        ("memory:|memory reported", r"\b(?:total|free) memory:|total memory reported"),
        ("total memory:", r"free memory/total memory:"),
        ("device", r"creat\w+ (?:tensorflow )?device .*memory|found device\s+with prop"),
        ("name: ", r"(?<!\w )\bname: \w.*\bmajor:|^\W*name: \w|pcibusid: .*name: \w"),
    ),
    Mark.DUMP: (
        ("limit:|inuse:|largestfreeblock:", r"\b(?:limit|inuse|maxinuse|largestfreeblock):\s*$"),
        ("memory_limit_", r"memory_limit_:"),
        ("free", r"\bfree\s+at of size"),
    ),
    Mark.NODE: (
        ("node", r"\[\[\s*(?:\{\{)?node:?\s|\{\{(?:function_)?node |^\W*node: '"),
        ("[op:|_device|/device:", r"by allocator |\[op:|_device=|/device:[cg]pu"),
    ),
}
