// The devices as they are now, kept up to date by events.
import { get } from "../shared/api.js";
import { follow, listen } from "../shared/events.js";

/** `changed(devices)` whenever something about them is new; `failed(error)` where they could not be loaded. */
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
