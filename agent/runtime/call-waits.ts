/** Calls of the runtime that last are waits of the agent. Pulls, streams and calls that run programs are left out: they
 *  take their time. */
import type { Waits } from '#api/kit/waits.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';

const WATCHED = [
  'version',
  'status',
  'runPodSandbox',
  'removePodSandbox',
  'listPodSandbox',
  'podSandboxStatus',
  'createContainer',
  'startContainer',
  'removeContainer',
  'listContainers',
  'containerStatus',
] as const satisfies readonly (keyof RuntimeService)[];

/** The same service, whose calls show when they last. */
export function withCallWaits(runtime: RuntimeService, waits: Waits): RuntimeService {
  const watched: Record<string, unknown> = {};
  for (const name of WATCHED) {
    const call = runtime[name] as (...args: readonly unknown[]) => Promise<unknown>;
    watched[name] = (...args: readonly unknown[]) =>
      waits.during(`answer of the container runtime to ${name}`, call(...args));
  }
  return { ...runtime, ...watched };
}
