/** Name and version of the container runtime. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';

export interface RuntimeIdentity {
  /** Queries the runtime. @throws CriError */
  load(signal: AbortSignal): Promise<void>;
  /** Scheme of container IDs, such as `containerd`; empty until loaded. */
  name(): string;
  /** Version of the runtime itself. */
  version(): string;
}

export function createRuntimeIdentity(runtime: Pick<RuntimeService, 'version'>): RuntimeIdentity {
  let known = { runtimeName: '', runtimeVersion: '' };
  return {
    async load(signal) {
      known = await runtime.version({ version: 'v1' }, { signal });
    },
    name: () => known.runtimeName,
    version: () => known.runtimeVersion,
  };
}
