/** `--runtime-config`: enables and disables API versions and resources. Pure. Source: API enablement,
 *  document 1 §9.2. */
import type { Resource } from '../resources/contract.ts';
import { ConfigError } from './parse.ts';

interface Switch {
  /** `batch/v1`, `v1`, `apps/v1/deployments`, `api/all`, `api/beta`… */
  readonly key: string;
  readonly on: boolean;
}

function parseSwitch(text: string): Switch | string {
  const [key = '', value = 'true', ...rest] = text.split('=');
  const name = `--runtime-config: ${JSON.stringify(text)}`;
  if (rest.length > 0 || key === '') return `${name} is not <key>[=<value>]`;
  if (value !== 'true' && value !== 'false') return `${name}: the value is not a boolean`;
  return { key, on: value === 'true' };
}

const STAGES: Readonly<Record<string, RegExp>> = {
  'api/all': /./,
  'api/ga': /^v\d+$/,
  'api/beta': /beta/,
  'api/alpha': /alpha/,
};

const groupVersionOf = ({ info }: Resource): string =>
  info.group === '' ? info.version : `${info.group}/${info.version}`;

/** Returns how specifically a switch matches a resource; undefined if it doesn't. */
function closeness({ key }: Switch, resource: Resource): number | undefined {
  const stage = STAGES[key];
  if (stage !== undefined) return stage.test(resource.info.version) ? (key === 'api/all' ? 0 : 1) : undefined;
  const groupVersion = groupVersionOf(resource);
  const own = key.startsWith('api/v') ? key.slice('api/'.length) : key;
  if (own === groupVersion) return 2;
  return own === `${groupVersion}/${resource.info.plural}` ? 3 : undefined;
}

/** Versions that are only sent to other servers (ImageReview): they may be enabled, and nothing is served for
 *  them. */
const SPOKEN_ONLY = /^imagepolicy\.[a-z0-9.]+\/v1alpha1$/;

/** Returns the served resources: all except the disabled ones. The most specific switch decides.
 *  @throws ConfigError for a switch that is invalid or matches nothing */
export function selectServed(resources: readonly Resource[], given: readonly string[]): readonly Resource[] {
  const parsed = given.map(parseSwitch);
  const problems = parsed.filter((each) => typeof each === 'string');
  const switches = parsed.filter((each) => typeof each !== 'string');
  for (const each of switches) {
    const speaks =
      STAGES[each.key] !== undefined ||
      SPOKEN_ONLY.test(each.key) ||
      resources.some((resource) => closeness(each, resource) !== undefined);
    // Disabling an unknown resource does no harm.
    if (!speaks && each.on) problems.push(`--runtime-config: no API is called ${each.key}`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return resources.filter((resource) => {
    let best = -1;
    let on = true;
    for (const each of switches) {
      const close = closeness(each, resource) ?? -1;
      if (close < best || close < 0) continue;
      best = close;
      ({ on } = each);
    }
    return on;
  });
}
