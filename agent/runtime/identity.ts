/** Which runtime it is. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';

export interface RuntimeIdentity {
  /** Asks the runtime. @throws CriError */
  load(signal: AbortSignal): Promise<void>;
  /** `containerd`, the scheme of container IDs; empty until loaded. */
  name(): string;
  /** The runtime's own version. */
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
