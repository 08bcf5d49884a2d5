/** `--runtime-config`: which versions and resources are served. Source: document 1, 9.2. Pure. */
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
  if (value !== 'true' && value !== 'false') return `${name}: the value is neither true nor false`;
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

/** How closely a switch speaks of a resource; undefined if not at all. */
function closeness({ key }: Switch, resource: Resource): number | undefined {
  const stage = STAGES[key];
  if (stage !== undefined) return stage.test(resource.info.version) ? (key === 'api/all' ? 0 : 1) : undefined;
  const groupVersion = groupVersionOf(resource);
  const own = key.startsWith('api/v') ? key.slice('api/'.length) : key;
  if (own === groupVersion) return 2;
  return own === `${groupVersion}/${resource.info.plural}` ? 3 : undefined;
}

/** A version that is only spoken to other servers (images are judged in it): it may be switched on, and has nothing to
 *  be served. */
const SPOKEN_ONLY = /^imagepolicy\.[a-z0-9.]+\/v1alpha1$/;

/** The resources that are served: all, but for what is switched off. The closest switch decides.
 *  @throws ConfigError for a switch that can't be read or speaks of nothing */
export function selectServed(resources: readonly Resource[], given: readonly string[]): readonly Resource[] {
  const parsed = given.map(parseSwitch);
  const problems = parsed.filter((each) => typeof each === 'string');
  const switches = parsed.filter((each) => typeof each !== 'string');
  for (const each of switches) {
    const speaks =
      STAGES[each.key] !== undefined ||
      SPOKEN_ONLY.test(each.key) ||
      resources.some((resource) => closeness(each, resource) !== undefined);
    // Switching off what isn't there does no harm.
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
