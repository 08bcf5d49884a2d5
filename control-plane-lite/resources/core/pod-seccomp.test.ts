import { describe, expect, test } from 'vitest';
import type { Container, Pod, PodSpec } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { typed } from '../view.ts';
import { podKind } from './pod.ts';
import { contextWith, createFaultsOf, objectOf, updateFaultsOf } from './strategy.fixture.ts';

const WORDS = VOCABULARIES.plat;
const KIND = podKind(WORDS);
const POD = WORDS.seccompPod;
const OF = (name: string): string => `${WORDS.seccompContainerPrefix}${name}`;

const TYPES = { U: 'Unconfined', R: 'RuntimeDefault' } as const;
const profile = (text: string | undefined): object =>
  text === undefined
    ? {}
    : {
        securityContext: {
          seccompProfile:
            text === 'U' || text === 'R'
              ? { type: TYPES[text] }
              : { type: 'Localhost', localhostProfile: text },
        },
      };

interface Fields {
  readonly pod?: string;
  readonly init?: string;
  readonly main?: string;
}

function podOf({ pod, init, main }: Fields, annotations: Readonly<Record<string, string>> = {}): ApiObject {
  return objectOf('core/v1.Pod', {
    metadata: { name: 'p', annotations },
    spec: {
      ...profile(pod),
      initContainers: [{ name: 'init', image: 'i', ...profile(init) }],
      containers: [{ name: 'main', image: 'i', ...profile(main) }],
    },
  });
}

function created(fields: Fields, annotations?: Readonly<Record<string, string>>): ApiObject {
  const draft = podOf(fields, annotations);
  KIND.strategy.prepareForCreate?.(draft, contextWith());
  return draft;
}

/** Both forms of each place. */
function formsOf(object: ApiObject): object {
  const { annotations = {} } = object.metadata;
  const { spec } = typed<Pod>(object);
  const field = (holder: Pick<PodSpec, 'securityContext'> | Container | undefined): unknown =>
    holder?.securityContext?.seccompProfile;
  const [main, init] = [spec?.containers[0], spec?.initContainers?.[0]];
  return {
    pod: [field(spec), annotations[POD]],
    init: [field(init), annotations[OF('init')]],
    main: [field(main), annotations[OF('main')]],
  };
}

const UNCONFINED = [{ type: 'Unconfined' }, 'unconfined'];
const DEFAULT = [{ type: 'RuntimeDefault' }, 'runtime/default'];
const NONE = [undefined, undefined];
const local = (path: string): unknown[] => [
  { type: 'Localhost', localhostProfile: path },
  `localhost/${path}`,
];

describe('a new pod', () => {
  test.each<[string, Fields, Readonly<Record<string, string>>, object]>([
    ['nothing', {}, {}, { pod: NONE, init: NONE, main: NONE }],
    [
      'fields',
      { pod: 'R', main: 'U', init: 'a/b' },
      {},
      { pod: DEFAULT, init: local('a/b'), main: UNCONFINED },
    ],
    [
      'annotations',
      {},
      { [POD]: 'runtime/default', [OF('main')]: 'unconfined', [OF('init')]: 'localhost/x' },
      { pod: DEFAULT, init: local('x'), main: UNCONFINED },
    ],
    [
      'a container’s annotation beside the pod’s field',
      { pod: 'R' },
      { [OF('main')]: 'unconfined' },
      { pod: DEFAULT, init: NONE, main: UNCONFINED },
    ],
    [
      'the old word for the default',
      {},
      { [POD]: 'docker/default' },
      { pod: [{ type: 'RuntimeDefault' }, 'docker/default'], init: NONE, main: NONE },
    ],
  ])('has both forms of what it says: %s', (_, fields, annotations, forms) => {
    const pod = created(fields, annotations);
    expect(formsOf(pod)).toEqual(forms);
    expect(createFaultsOf(KIND, pod)).toEqual([]);
  });

  test.each<[Fields, Readonly<Record<string, string>>, string]>([
    [{ pod: 'R' }, { [POD]: 'unconfined' }, 'spec.securityContext.seccompProfile.type'],
    [
      { main: 'U' },
      { [OF('main')]: 'runtime/default' },
      'spec.containers[0].securityContext.seccompProfile.type',
    ],
    [
      { init: 'a' },
      { [OF('init')]: 'unconfined' },
      'spec.initContainers[0].securityContext.seccompProfile.type',
    ],
    [
      { init: 'a' },
      { [OF('init')]: 'localhost/b' },
      'spec.initContainers[0].securityContext.seccompProfile.localhostProfile',
    ],
    [
      { main: 'R' },
      { [OF('main')]: 'localhost/b' },
      'spec.containers[0].securityContext.seccompProfile.type',
    ],
  ])('says one thing only: %j with %j', (fields, annotations, path) => {
    expect(createFaultsOf(KIND, created(fields, annotations))).toEqual([`FieldValueForbidden ${path}`]);
  });

  test.each(['whatever', 'localhost/', 'localhost//etc/x', 'localhost/../x'])(
    'names a profile: %s',
    (text) => {
      expect(createFaultsOf(KIND, created({}, { [OF('main')]: text }))).not.toEqual([]);
    },
  );
});

describe('a pod that is there', () => {
  /** Returns the errors of an update to these annotations, and the resulting annotations. */
  function change(
    old: ApiObject,
    annotations: Readonly<Record<string, string>>,
    part = '',
  ): readonly string[] {
    const draft: ApiObject = structuredClone(old);
    draft.metadata.annotations = { ...annotations };
    if (part === '') KIND.strategy.prepareForUpdate?.(draft, old, contextWith());
    return updateFaultsOf(KIND, draft, old, part);
  }
  const old = created({ pod: 'R' }, { other: 'x' });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['is added for a container', { ...old.metadata.annotations, [OF('main')]: 'unconfined' }],
    ['is added for a container that may come', { ...old.metadata.annotations, [OF('debug')]: 'unconfined' }],
    ['becomes another', { ...old.metadata.annotations, [POD]: 'unconfined' }],
  ])('keeps its profiles where an annotation %s', (_, annotations) => {
    expect(change(old, annotations)).toEqual([
      expect.stringMatching(/^FieldValueForbidden metadata\.annotations/),
    ]);
    expect(change(old, annotations, 'status')).toEqual([
      expect.stringMatching(/^FieldValueForbidden metadata\.annotations/),
    ]);
  });

  test('is put by clients that do not know the annotations', () => {
    expect(change(old, { other: 'y' })).toEqual([]);
  });

  test('keeps the annotations of profiles that stand nowhere else', () => {
    const former = podOf({}, { [POD]: 'runtime/default' });
    expect(change(former, {})).toHaveLength(1);
    expect(change(former, { [POD]: 'runtime/default', more: 'x' })).toEqual([]);
  });

  test('may say in an annotation what its field says', () => {
    const former = podOf({ pod: 'R' });
    expect(change(former, { [POD]: 'docker/default' })).toEqual([]);
  });
});
