/** Runs the admission plugins over one change: all that mutate, later all that validate. */
import type { AdmissionPlugin, AdmissionRequest } from '../admission/contract.ts';

export interface AdmissionChain {
  mutate(request: AdmissionRequest): Promise<void>;
  validate(request: AdmissionRequest): Promise<void>;
}

/** Plugins are asked in the order given. The first refusal ends the request. */
export function createAdmissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const handles = (plugin: AdmissionPlugin, { operation }: AdmissionRequest): boolean =>
    plugin.operations.includes(operation);
  return {
    async mutate(request) {
      for (const plugin of plugins) {
        if (plugin.mutate !== undefined && handles(plugin, request)) await plugin.mutate(request);
      }
    },
    async validate(request) {
      for (const plugin of plugins) {
        if (plugin.validate !== undefined && handles(plugin, request)) await plugin.validate(request);
      }
    },
  };
}
