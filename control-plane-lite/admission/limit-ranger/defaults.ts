/** Default requests and limits of containers that set none. Changes the draft. */
import type { Container, LimitRange, Pod } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type PodSpec, setInSpec } from '../spec-draft.ts';

type Amounts = Readonly<Record<string, string>>;

interface Defaults {
  readonly limits: Amounts;
  readonly requests: Amounts;
}

function defaultsOf({ spec }: LimitRange): Defaults {
  const items = (spec?.limits ?? []).filter(({ type }) => type === 'Container');
  return {
    limits: Object.fromEntries(items.flatMap((item) => Object.entries(item.default ?? {}))),
    requests: Object.fromEntries(items.flatMap(({ defaultRequest }) => Object.entries(defaultRequest ?? {}))),
  };
}

const missingIn = (given: Amounts, defaults: Amounts): readonly string[] =>
  Object.keys(defaults)
    .filter((key) => given[key] === undefined)
    .toSorted();

/** Returns the container with its defaults, and human-readable descriptions of those applied. */
function completed(
  what: string,
  container: Container,
  { limits, requests }: Defaults,
): { readonly container: Container; readonly applied: readonly string[] } {
  const { resources = {}, name } = container;
  const [ownLimits, ownRequests] = [resources.limits ?? {}, resources.requests ?? {}];
  const [newLimits, newRequests] = [missingIn(ownLimits, limits), missingIn(ownRequests, requests)];
  if (newLimits.length + newRequests.length === 0) return { container, applied: [] };
  const describe = (keys: readonly string[], kind: string): readonly string[] =>
    keys.length === 0 ? [] : [`${keys.join(', ')} ${kind} for ${what} ${name}`];
  return {
    container: {
      ...container,
      resources: {
        ...resources,
        limits: { ...limits, ...ownLimits },
        requests: { ...requests, ...ownRequests },
      },
    },
    applied: [...describe(newRequests, 'request'), ...describe(newLimits, 'limit')],
  };
}

/** `annotation`: records the applied defaults. */
export function giveDefaults(draft: ApiObject, range: LimitRange, annotation: string): void {
  const defaults = defaultsOf(range);
  const { spec } = typed<Pod>(draft);
  if (spec === undefined) return;
  const all = spec.containers.map((each) => completed('container', each, defaults));
  const first = (spec.initContainers ?? []).map((each) => completed('init container', each, defaults));
  const applied = [...all, ...first].flatMap((each) => each.applied);
  if (applied.length === 0) return;
  setInSpec<PodSpec>(draft, {
    containers: all.map(({ container }) => container),
    ...(spec.initContainers === undefined ? {} : { initContainers: first.map(({ container }) => container) }),
  });
  draft.metadata.annotations = {
    ...draft.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${applied.join('; ')}`,
  };
}
