// Loads the devices and keeps them up to date from events.
import { get } from "../shared/api.js";
import { follow, listen } from "../shared/events.js";

/** Calls `changed(devices)` after each change, and `failed(error)` if they cannot be loaded. */
export function watchDevices(changed, failed) {
  let devices = [];
  listen(({ kind, job, data }) => {
    if (kind === "progress") {
      const device = devices.find((one) => one.job?.id === job);
      if (!device) return;
      device.job = { ...device.job, progress: data, phase: data.phase };
    } else if (kind === "device" && !data.is_gone) {
      const device = devices.find((one) => one.id === data.id);
      if (!device) return;
      const before = device.job;
      Object.assign(device, data);
      if (device.job) device.job.progress = before?.id === device.job.id ? before.progress : null;
    } else return;
    changed(devices);
  });
  follow(
    async () => {
      try {
        devices = (await get("/v1/devices")).items;
        changed(devices);
      } catch (error) {
        failed(error);
      }
    },
    ({ kind, data }) => kind === "device" && (data.is_gone || !devices.some((one) => one.id === data.id)),
    1000,
  );
}
