/** Node selectors and tolerations that a namespace's annotations impose on its pods. Source: PodNodeSelector
 *  and PodTolerationRestriction, document 2 §2.7; upstream's plugins, release 1.24. */

import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import {
  NO_SELECTORS,
  NO_TOLERATIONS,
  type NodeSelectorConfig,
  type TolerationConfig,
} from './namespace-scheduling/config.ts';
import {
  mergeTolerations,
  parseNodeSelector,
  parseTolerations,
  tolerates,
} from './namespace-scheduling/rules.ts';
import { refusal } from './refusal.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

type Deps = Pick<AdmissionDeps, 'vocabulary' | 'objects'>;

/** Reads an annotation of the request's namespace, whose name is completed with the platform's domain. */
function annotationReader({
  vocabulary,
  objects,
}: Deps): (request: AdmissionRequest, name: string) => string | undefined {
  const namespaces = objects('', 'namespaces');
  return ({ namespace }, name) =>
    namespaces.get(namespace)?.object().metadata.annotations?.[
      `scheduler.alpha.${vocabulary.domain}/${name}`
    ];
}

const PODS: ReadonlySet<string> = new Set(['/pods']);

type Labels = Readonly<Record<string, string>>;

export function createPodNodeSelector(
  deps: Deps,
  { clusterDefault, allowed }: NodeSelectorConfig = NO_SELECTORS,
): AdmissionPlugin {
  const read = annotationReader(deps);

  /** Returns the node selector of the request's namespace. */
  function wantedOf(request: AdmissionRequest): Labels {
    const text = read(request, 'node-selector');
    if (text === undefined) return clusterDefault;
    const wanted = text === '' ? {} : parseNodeSelector(text);
    if (wanted === undefined)
      throw refusal(request, `the node selector of the namespace cannot be read: ${text}`);
    return wanted;
  }

  function merge(request: AdmissionRequest, own: Labels, wanted: Labels): Labels {
    for (const [key, value] of Object.entries(wanted)) {
      if (own[key] !== undefined && own[key] !== value)
        throw refusal(request, 'pod node label selector conflicts with its namespace node label selector');
    }
    return { ...own, ...wanted };
  }

  function checkAllowed(request: AdmissionRequest, chosen: Labels): void {
    const list = Object.entries(allowed.get(request.namespace) ?? {});
    if (list.length === 0) return;
    const fits = Object.entries(chosen).every(([key, value]) =>
      list.some(([name, only]) => name === key && only === value),
    );
    if (!fits) throw refusal(request, 'pod node label selector labels conflict with its namespace whitelist');
  }

  return {
    name: 'PodNodeSelector',
    operations: ['CREATE'],
    resources: PODS,
    mutate(request) {
      const { object, subresource } = request;
      if (object === undefined || subresource !== '') return;
      const wanted = wantedOf(request);
      if (Object.keys(wanted).length === 0) return;
      const nodeSelector = merge(request, typed<Pod>(object).spec?.nodeSelector ?? {}, wanted);
      setInSpec<PodSpec>(object, { nodeSelector });
    },
    validate(request) {
      const { object, subresource } = request;
      if (object === undefined || subresource !== '') return;
      // Another plugin may have changed it meanwhile.
      checkAllowed(request, merge(request, typed<Pod>(object).spec?.nodeSelector ?? {}, wantedOf(request)));
    },
  };
}

export function createPodTolerationRestriction(
  deps: Deps,
  config: TolerationConfig = NO_TOLERATIONS,
): AdmissionPlugin {
  const read = annotationReader(deps);
  const pressure: Toleration = {
    key: `node.${deps.vocabulary.domain}/memory-pressure`,
    operator: 'Exists',
    effect: 'NoSchedule',
  };

  /** The namespace's setting, or else the cluster default. */
  function tolerationsIn(
    request: AdmissionRequest,
    name: string,
    general: readonly Toleration[],
  ): readonly Toleration[] {
    const text = read(request, name);
    if (text === undefined) return general;
    if (text === '') return [];
    const found = parseTolerations(text);
    if (found === undefined) throw refusal(request, `the ${name} of the namespace cannot be read`);
    return found;
  }

  function complete(request: AdmissionRequest): void {
    const { object } = request;
    if (object === undefined || !isMutableObject(object['spec'])) return;
    const pod = typed<Pod>(object);
    const given = pod.spec?.tolerations ?? [];
    const more = qosClass(pod) === 'BestEffort' ? [] : [pressure];
    const all = mergeTolerations([
      ...tolerationsIn(request, 'defaultTolerations', config.defaults),
      ...given,
      ...more,
    ]);
    if (all.length !== given.length || all.some((each, index) => each !== given[index]))
      setInSpec<PodSpec>(object, { tolerations: all.map((each) => ({ ...each })) });
  }

  return {
    name: 'PodTolerationRestriction',
    operations: ['CREATE', 'UPDATE'],
    resources: PODS,
    mutate(request) {
      if (request.operation === 'CREATE' && request.subresource === '') complete(request);
    },
    validate(request) {
      const { object, subresource } = request;
      if (object === undefined || subresource !== '') return;
      const allowed = tolerationsIn(request, 'tolerationsWhitelist', config.allowed);
      if (allowed.length === 0) return;
      const given = typed<Pod>(object).spec?.tolerations ?? [];
      if (given.every((each) => allowed.some((wider) => tolerates(wider, each)))) return;
      throw refusal(
        request,
        'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
      );
    },
  };
}
