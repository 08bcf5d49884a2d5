/** What configuration files of other releases than ours hold: fields and feature gates that came later or are gone, and
 *  empty values that stand for the default, which are always written. Files of all of them start the agent. Pure. */
import data from './data/other-releases.json' with { type: 'json' };

const FIELDS: ReadonlyMap<string, string> = new Map(
  Object.entries(data.fields).flatMap(([release, paths]) => paths.map((path) => [path, release] as const)),
);
const GATES: ReadonlySet<string> = new Set(data.gates);

/** The release that began with a field; undefined for one that no release has. */
export const laterField = (path: string): string | undefined => FIELDS.get(path);

/** Whether another release has this gate, by its upstream name. */
export const isOtherGate = (name: string): boolean => GATES.has(name);

/** A value of a later release that means what happens without it. */
export const isLaterValue = (key: string, raw: unknown): boolean =>
  key === 'memorySwap.swapBehavior' && raw === 'NoSwap';

/** Settings whose empty value in a file is the default: upstream's writer leaves none of them out. */
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

/** Whether a value of the file is to be taken for the default. */
export const isEmptyDefault = (key: string, raw: unknown): boolean =>
  EMPTY_IS_DEFAULT.has(key) &&
  (raw === '' || raw === 0 || (typeof raw === 'string' && /^0(?:ns|us|ms|s|m|h)?$/.test(raw)));

/** One warning that names everything of other releases; undefined where there is nothing. */
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
