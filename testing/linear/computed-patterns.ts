/** Regular expressions that production code builds at run time, by file and expression. */

export type Computed = { readonly examples: readonly RegExp[] } | { readonly reason: string };

const RGB = String.raw`\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*`;

export const COMPUTED: Readonly<Record<string, Computed>> = {
  "agent/images/credentials.ts: new RegExp(`^[${inner.replace(/[\\\\[]/g, '\\\\$&')}]$`)": {
    examples: [/^[a-z]$/, /^[^\\[a]$/],
  },
  "agent/server/node/stats/proc.ts: new RegExp(`^${key}: +(\\\\d+) kB$`, 'm')": {
    examples: [/^MemAvailable: +(\d+) kB$/m],
  },
  "agent/server/node/stats/proc.ts: new RegExp(`^${key} (\\\\d+)$`, 'm')": { examples: [/^pgfault (\d+)$/m] },
  "eviction/observe/memory.ts: new RegExp(`^${name}:?\\\\s+(\\\\d+)( kB)?$`, 'm')": {
    examples: [/^MemTotal:?\s+(\d+)( kB)?$/m],
  },
  'agent/doctor/kernel-file-systems.ts: new RegExp(`/${RegExp.escape(name)}\\\\.ko(?:\\\\.\\\\w+)?(?:[:\\\\n]|$)`)':
    {
      examples: [/\/\x65xt4\.ko(?:\.\w+)?(?:[:\n]|$)/],
    },
  "control-plane-lite/custom/schema/formats.ts: new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i')":
    { examples: [/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i] },
  'control-plane-lite/custom/schema/formats.ts: new RegExp(`^rgb\\\\(${RGB},${RGB},${RGB}\\\\)$`)': {
    examples: [new RegExp(`^rgb\\(${RGB},${RGB},${RGB}\\)$`)],
  },
  "control-plane-lite/custom/schema/pattern/char-set.ts: new RegExp(source, 'u')": {
    reason: 'one class of characters, tried on one character',
  },
};
