/** Agreement on seccomp profiles: the profiles that the API server's admission checks are those that the
 *  agent applies, whatever annotations and fields the pod has and whatever updates follow. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideSeccomp } from '#agent/runtime/config/security.ts';
import type { Pod, SeccompProfile } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { violationsOf } from '#plane/admission/pod-security/evaluate.ts';
import { LATEST } from '#plane/admission/pod-security/levels.ts';
import type { ApiObject, StrategyContext } from '#plane/resources/contract.ts';
import { podKind } from '#plane/resources/core/pod.ts';
import { typed } from '#plane/resources/view.ts';

const vocabulary = VOCABULARIES.kubernetes;
const { strategy, parts = {} } = podKind(vocabulary);
const context: StrategyContext = {
  vocabulary,
  user: { name: 'ann', groups: [], extra: {} },
  namespace: 'ns',
  nowMs: 0,
  dryRun: false,
  gates: new Set(),
};

const profile: fc.Arbitrary<SeccompProfile | undefined> = fc.constantFrom(
  undefined,
  undefined,
  { type: 'Unconfined' },
  { type: 'RuntimeDefault' },
  { type: 'Localhost', localhostProfile: 'a' },
);
const annotation = fc.constantFrom(
  'unconfined',
  'runtime/default',
  'docker/default',
  'localhost/a',
  'localhost/b',
  'other',
  '',
);
const keys = [
  vocabulary.seccompPod,
  ...['init', 'main', 'debug'].map((name) => `${vocabulary.seccompContainerPrefix}${name}`),
];
const annotations = fc.dictionary(fc.constantFrom(...keys), annotation, { maxKeys: 3 });

/** All but seccomp conforms to the strictest level. */
const GOOD = { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } };
const withProfile = (name: string, seccompProfile: SeccompProfile | undefined): object => ({
  name,
  image: 'i',
  securityContext: { ...GOOD, ...(seccompProfile === undefined ? {} : { seccompProfile }) },
});

interface Life {
  readonly pod: SeccompProfile | undefined;
  readonly init: SeccompProfile | undefined;
  readonly main: SeccompProfile | undefined;
  readonly debug: SeccompProfile | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations of a later update. */
  readonly later: Readonly<Record<string, string>>;
}
const life: fc.Arbitrary<Life> = fc.record({
  pod: profile,
  init: profile,
  main: profile,
  debug: profile,
  annotations,
  later: annotations,
});

/** Returns the pod as stored; `undefined` if it is rejected. */
function stored({ pod, init, main, annotations: given }: Life): ApiObject | undefined {
  const draft: ApiObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'ns', annotations: { ...given } },
    spec: {
      ...(pod === undefined ? {} : { securityContext: { seccompProfile: pod } }),
      initContainers: [withProfile('init', init)],
      containers: [withProfile('main', main)],
    },
  };
  strategy.prepareForCreate?.(draft, context);
  const errors = [
    ...(strategy.validate?.(draft, context) ?? []),
    ...(strategy.validateCreate?.(draft, context) ?? []),
  ].filter(({ field }) => /seccomp/i.test(field));
  return errors.length === 0 ? draft : undefined;
}

/** Returns the pod with updated annotations, if the update is allowed. */
function annotated(old: ApiObject, wanted: Readonly<Record<string, string>>): ApiObject {
  const draft = structuredClone(old);
  draft.metadata.annotations = { ...draft.metadata.annotations, ...wanted };
  strategy.prepareForUpdate?.(draft, old, context);
  const errors = strategy.validateUpdate?.(draft, old, context) ?? [];
  return errors.length === 0 ? draft : old;
}

/** Returns the pod with another container. */
function debugged(old: ApiObject, debug: SeccompProfile | undefined): ApiObject {
  const draft = structuredClone(old);
  Object.assign(draft['spec'] as object, { ephemeralContainers: [withProfile('debug', debug)] });
  parts['ephemeralcontainers']?.prepareForUpdate(draft, old, context);
  return draft;
}

const containersOf = ({ spec }: Pod) => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
  ...(spec?.ephemeralContainers ?? []),
];

/** Returns the strictest level at which the pod is accepted. */
function levelOf(pod: Pod): 'restricted' | 'baseline' | 'privileged' {
  const isAt = (level: 'restricted' | 'baseline'): boolean =>
    violationsOf(pod, { level, minor: LATEST }, vocabulary) === undefined;
  if (isAt('restricted')) return 'restricted';
  return isAt('baseline') ? 'baseline' : 'privileged';
}

const settings = { seccompProfileRoot: '/', vocabulary };
const runsUnder = (pod: Pod, container: ReturnType<typeof containersOf>[number], seccompDefault: boolean) => {
  const decision = decideSeccomp(pod, container, { ...settings, seccompDefault });
  return decision.kind === 'ok' ? decision.profile.profileType : decision.message;
};

describe('seccomp profiles', () => {
  test('run as they were admitted', () => {
    const accepted = { restricted: 0, baseline: 0, privileged: 0 };
    fc.assert(
      fc.property(life, fc.boolean(), (requested, seccompDefault) => {
        const first = stored(requested);
        if (first === undefined) return;
        const pod = typed<Pod>(debugged(annotated(first, requested.later), requested.debug));
        const byFields = pod.spec?.securityContext?.seccompProfile;
        const fallback = seccompDefault ? 'RuntimeDefault' : 'Unconfined';
        const found = containersOf(pod).map((container) => runsUnder(pod, container, seccompDefault));
        // Admission checks fields.
        expect(found).toEqual(
          containersOf(pod).map(
            ({ securityContext }) => (securityContext?.seccompProfile ?? byFields)?.type ?? fallback,
          ),
        );
        const level = levelOf(pod);
        accepted[level] += 1;
        const mayBeUnconfined = level === 'privileged' || (level === 'baseline' && !seccompDefault);
        expect(found.includes('Unconfined') && !mayBeUnconfined).toBe(false);
      }),
      { numRuns: 3000, seed: 20_431 },
    );
    expect(Object.values(accepted).every((count) => count > 50)).toBe(true);
  });

  test('are those that a new pod requests, the most specific first', () => {
    fc.assert(
      fc.property(life, (requested) => {
        const object = stored(requested);
        if (object === undefined) return;
        const pod = typed<Pod>(object);
        const { annotations: said } = requested;
        const nearest = (name: 'init' | 'main'): string => {
          const own = said[`${vocabulary.seccompContainerPrefix}${name}`];
          const text = own ?? (requested.pod === undefined ? said[vocabulary.seccompPod] : undefined);
          const type = requested[name]?.type ?? (own === undefined ? requested.pod?.type : undefined);
          if (type !== undefined) return type;
          if (text === undefined || text === 'unconfined') return 'Unconfined';
          return text.startsWith('localhost/') ? 'Localhost' : 'RuntimeDefault';
        };
        expect(containersOf(pod).map((container) => runsUnder(pod, container, false))).toEqual([
          nearest('init'),
          nearest('main'),
        ]);
      }),
      { numRuns: 2000, seed: 77 },
    );
  });
});
