/** Compatibility with configuration files of other releases: fields and feature gates that were added later
 *  or removed, and empty values that stand for the default. Files of all releases from 1.20 to 1.33 start the
 *  agent. Pure. */
import data from './data/other-releases.json' with { type: 'json' };

const FIELDS: ReadonlyMap<string, string> = new Map(
  Object.entries(data.fields).flatMap(([release, paths]) => paths.map((path) => [path, release] as const)),
);
const GATES: ReadonlySet<string> = new Set(data.gates);

/** Returns the release that introduced a field; undefined for one that no release has. */
export const laterField = (path: string): string | undefined => FIELDS.get(path);

/** Reports whether another release has this gate, by its upstream name. */
export const isOtherGate = (name: string): boolean => GATES.has(name);

/** Reports whether a value of a later release equals the behaviour without it. */
export const isLaterValue = (key: string, raw: unknown): boolean =>
  key === 'memorySwap.swapBehavior' && raw === 'NoSwap';

/** Settings whose empty value in a file is the default: upstream's serializer always writes them. */
const EMPTY_IS_DEFAULT: ReadonlySet<string> = new Set([
  'syncFrequency',
  'fileCheckFrequency',
  'httpCheckFrequency',
  'address',
  'port',
  'authentication.webhook.cacheTTL',
  'authorization.mode',
  'authorization.webhook.cacheAuthorizedTTL',
  'authorization.webhook.cacheUnauthorizedTTL',
  'registryBurst',
  'eventBurst',
  'healthzBindAddress',
  'streamingConnectionIdleTimeout',
  'nodeStatusUpdateFrequency',
  'nodeStatusReportFrequency',
  'nodeLeaseDurationSeconds',
  'imageMinimumGCAge',
  'volumeStatsAggPeriod',
  'cgroupDriver',
  'cpuManagerPolicy',
  'cpuManagerReconcilePeriod',
  'memoryManagerPolicy',
  'topologyManagerPolicy',
  'topologyManagerScope',
  'runtimeRequestTimeout',
  'hairpinMode',
  'maxPods',
  'maxOpenFiles',
  'contentType',
  'platAPIBurst',
  'evictionPressureTransitionPeriod',
  'containerLogMaxSize',
  'configMapAndSecretChangeDetectionStrategy',
  'volumePluginDir',
  'logging.format',
  'logging.flushFrequency',
  'containerRuntimeEndpoint',
  'imageServiceEndpoint',
]);

/** Reports whether a value of the file stands for the default. */
export const isEmptyDefault = (key: string, raw: unknown): boolean =>
  EMPTY_IS_DEFAULT.has(key) &&
  (raw === '' || raw === 0 || (typeof raw === 'string' && /^0(?:ns|us|ms|s|m|h)?$/.test(raw)));

/** Returns one warning that names everything of other releases; undefined where there is nothing. */
export function otherReleaseWarning(
  file: string,
  fields: readonly string[],
  gates: readonly string[],
): string | undefined {
  const parts = [
    ...(fields.length === 0
      ? []
      : [`fields ${fields.map((path) => `${path} (${laterField(path) ?? 'later'})`).join(', ')}`]),
    ...(gates.length === 0 ? [] : [`feature gates ${gates.join(', ')}`]),
  ];
  if (parts.length === 0) return undefined;
  return `${file}: ignored, as they belong to other releases than 1.24: ${parts.join('; ')}`;
}
