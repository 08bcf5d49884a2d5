/** Admission attributes of every verb of every resource and subresource in the server's discovery documents:
 *  operation, kind and objects as in upstream, release 1.24. Source: admission, document 2 §2.2 and 2.6. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Recorder, startRecorder } from './admission-recorder.ts';
import { type Sample, samples, settled } from './kinds.ts';
import { APPLY, type Body, type Json, pod, type Reply, usePlane } from './support.ts';

const plane = usePlane('kubernetes');
const { words } = plane;
let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder(plane);
});
afterAll(() => recorder[Symbol.asyncDispose]());

/** A line of a discovery document. */
interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface Part extends Entry {
  /** `apps/v1` of the document. */
  readonly groupVersion: string;
  readonly plural: string;
  readonly subresource: string;
}

async function discovered(): Promise<readonly Part[]> {
  const groups = (await plane.get('/apis')).body as unknown as {
    readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  };
  const versions = groups.groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
  const documents = await Promise.all(
    ['v1', ...versions].map(async (groupVersion) => {
      const { body } = await plane.get(groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`);
      const { resources } = body as unknown as { readonly resources: readonly Entry[] };
      return resources.map((entry) => {
        const [plural = '', subresource = ''] = entry.name.split('/');
        return { ...entry, groupVersion, plural, subresource };
      });
    }),
  );
  return documents.flat();
}

/** Verbs that change nothing. */
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const OPERATIONS: Readonly<Record<string, string>> = {
  create: 'CREATE',
  update: 'UPDATE',
  patch: 'UPDATE',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};

/** The rules: by whom what is seen. */
function expected(part: Part, verb: string): readonly string[] {
  const [group, version] = part.groupVersion.includes('/') ? part.groupVersion.split('/') : ['', 'v1'];
  // No webhook may prevent the repair of webhooks.
  if (group === `admissionregistration.${words.apiGroupDomain}`) return [];
  const connects = /^(?:Pod|Service|Node)\w+Options$/.test(part.kind);
  if (READING.has(verb) && !connects) return [];
  const operation = connects ? 'CONNECT' : (OPERATIONS[verb] ?? '');
  const kind = `${part.group ?? group}/${part.version ?? version} ${part.kind}`;
  const object = operation === 'DELETE' ? 'none' : kind;
  const old = operation === 'UPDATE' || operation === 'DELETE' ? kind : 'none';
  const subresource = part.subresource === '' ? '' : `/${part.subresource}`;
  const resource = `${group}/${version} ${part.plural}${subresource}`;
  return ['mutating', 'validating'].map(
    (by) => `${by}: ${operation} ${resource}: ${kind}, ${object} was ${old}`,
  );
}

function kindOf(object: Body | null): string {
  if (object === null) return 'none';
  const at = object.apiVersion.includes('/') ? object.apiVersion : `/${object.apiVersion}`;
  return `${at} ${object.kind}`;
}

function seen(): readonly string[] {
  return recorder.requested.map(({ by, operation, kind, resource, subResource, object, oldObject }) => {
    const part = subResource === undefined ? '' : `/${subResource}`;
    const requested = `${resource.group}/${resource.version} ${resource.resource}${part}`;
    const of = `${kind.group}/${kind.version} ${kind.kind}`;
    return `${by}: ${operation} ${requested}: ${of}, ${kindOf(object)} was ${kindOf(oldObject)}`;
  });
}

const access = { user: 'ann', nonResourceAttributes: { path: '/', verb: 'get' } };
/** Bodies of what is made and never stored. */
const BODIES: Readonly<Record<string, Json>> = {
  Binding: { target: { kind: 'Node', name: 'n1' } },
  Eviction: {},
  TokenRequest: { spec: {} },
  TokenReview: { spec: { token: 'none' } },
  SubjectAccessReview: { spec: access },
  LocalSubjectAccessReview: {
    spec: { user: 'ann', resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } },
  },
  SelfSubjectAccessReview: { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } },
  SelfSubjectRulesReview: { spec: { namespace: 'default' } },
};

const apiVersionOf = ({ group, version, groupVersion }: Part): string => {
  const [ownGroup, ownVersion] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion];
  const at = group ?? ownGroup ?? '';
  return at === '' ? (version ?? ownVersion ?? '') : `${at}/${version ?? ownVersion ?? ''}`;
};

/** Requests of a verb; several where there are several ways. */
type Ways = Readonly<Record<string, readonly (() => Promise<Reply>)[]>>;

function waysOf(part: Part, at: string, name: string, sample: Sample | undefined): Ways {
  const path = part.subresource === '' ? `${at}/${name}` : `${at}/${name}/${part.subresource}`;
  const isNew = part.subresource === '' && sample === undefined;
  const made = {
    apiVersion: apiVersionOf(part),
    kind: part.kind,
    metadata: part.kind.endsWith('Review') ? {} : { name },
    ...BODIES[part.kind],
  };
  const dry = '?dryRun=All';
  if (part.kind.endsWith('Options')) {
    const methods = { get: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' };
    return Object.fromEntries(
      Object.entries(methods).map(([verb, method]) => [
        verb,
        [() => plane.call(method, `${path}?command=x`)],
      ]),
    );
  }
  const live = async (): Promise<unknown> => (await plane.get(path)).body;
  const main = async (): Promise<unknown> => (await plane.get(`${at}/${name}`)).body;
  const body = ['finalize', 'approval', 'ephemeralcontainers'].includes(part.subresource) ? main : live;
  const apply = { apiVersion: made.apiVersion, kind: part.kind, metadata: { name } };
  return {
    create: [() => plane.post(`${isNew ? at : path}${dry}`, made)],
    update: [async () => plane.put(`${path}${dry}`, await body())],
    patch: [
      () => plane.patch(`${path}${dry}`, {}),
      () => plane.call('PATCH', `${path}${dry}&fieldManager=x`, apply, { type: APPLY }),
    ],
    delete: [() => plane.call('DELETE', `${path}${dry}`)],
    deletecollection: [
      () => plane.call('DELETE', `${at}${dry}&fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`),
    ],
    get: [() => plane.get(path)],
    list: [() => plane.get(at)],
    watch: [() => plane.get(`${at}?watch=true&timeoutSeconds=0.001`)],
  };
}

async function check(part: Part, sample: Sample | undefined): Promise<readonly object[]> {
  const differences: object[] = [];
  const root = part.groupVersion === 'v1' ? '/api/v1' : `/apis/${part.groupVersion}`;
  const at = `${root}${part.namespaced ? '/namespaces/default' : ''}/${part.plural}`;
  const ways = waysOf(part, at, sample?.object.metadata.name ?? 'sample-v1', sample);
  for (const verb of part.verbs) {
    // Creation has its own test; admission sees a watch as a list.
    if (verb === 'watch' || (verb === 'create' && sample !== undefined && part.subresource === '')) continue;
    const requests = ways[verb] ?? [];
    expect(requests, `${part.name}: no request for ${verb}`).not.toHaveLength(0);
    for (const request of requests) {
      recorder.requested.length = 0;
      const reply = await request();
      const found = [...seen()];
      // Not every part can be applied to, and not every connection leads anywhere.
      if (reply.status === 415) continue;
      const wanted = expected(part, verb);
      if (isDeepStrictEqual(found, wanted)) continue;
      const what = `${verb} ${part.groupVersion} ${part.name}: ${reply.status} ${reply.text.slice(0, 200)}`;
      differences.push({ what, found, wanted });
    }
  }
  return differences;
}

describe('admission sees', () => {
  const all = samples(words);
  /** Versions of a kind are stored in one place: each sample has a name of its own. */
  function sampleOf(part: Part): Sample | undefined {
    const found = all.find((each) => each.apiVersion === part.groupVersion && each.plural === part.plural);
    if (found?.object.metadata.name.startsWith('sample-') !== true) return found;
    const name = `sample-${part.groupVersion.replaceAll(/[^a-z0-9]/g, '-')}`;
    return { ...found, object: { ...found.object, metadata: { ...found.object.metadata, name } } };
  }

  test('every verb of every resource and subresource as upstream has it', { timeout: 120_000 }, async () => {
    const parts = await discovered();
    expect(parts.length).toBeGreaterThan(100);
    const differences: object[] = [];
    for (const part of parts.filter(({ subresource }) => subresource === '')) {
      const sample = sampleOf(part);
      recorder.requested.length = 0;
      if (sample !== undefined) {
        const { status, text } = await plane.post(sample.path, sample.object);
        const made = { status, found: seen() };
        await settled(plane, `${sample.path}/${sample.object.metadata.name}`, sample.kind);
        const wanted = { status: 201, found: expected(part, 'create') };
        if (!isDeepStrictEqual(made, wanted))
          differences.push({ what: `create ${part.groupVersion} ${part.name}: ${text}`, ...made, wanted });
      }
      const parted = parts.filter(
        ({ groupVersion, plural }) => groupVersion === part.groupVersion && plural === part.plural,
      );
      // Subresources first: the object goes with some of its own verbs.
      for (const each of parted.toReversed()) differences.push(...(await check(each, sample)));
    }
    expect(differences).toEqual([]);
  });

  test('that the server spends the budget of an eviction, and nothing of it in a dry run', async () => {
    const at = await plane.namespace();
    const budgets = `${at.replace('/api/v1', '/apis/policy/v1')}/poddisruptionbudgets`;
    await plane.post(`${at}/pods`, pod('a', { nodeName: 'n1' }, { labels: { app: 'a' } }));
    await plane.patch(`${at}/pods/a/status`, { status: { phase: 'Running' } });
    const spec = { minAvailable: 0, selector: { matchLabels: { app: 'a' } } };
    const { body } = await plane.post(budgets, { metadata: { name: 'b' }, spec });
    const counts = { currentHealthy: 1, desiredHealthy: 0, expectedPods: 1, disruptionsAllowed: 1 };
    const status = { observedGeneration: body.metadata.generation, ...counts };
    expect((await plane.patch(`${budgets}/b/status`, { status })).status).toBe(200);
    const ofBudgets = (): readonly string[] =>
      [...recorder.requested, ...recorder.askedByOthers]
        .filter(({ resource, by }) => resource.resource === 'poddisruptionbudgets' && by === 'validating')
        .map(({ operation, subResource, userInfo }) => `${operation} ${subResource} by ${userInfo.username}`)
        .filter((line) => !line.endsWith('by system:apiserver:disruption'));
    for (const [query, wanted] of [
      ['?dryRun=All', []],
      ['', ['UPDATE status by system:apiserver']],
    ] as const) {
      recorder.requested.length = 0;
      recorder.askedByOthers.length = 0;
      const evicted = await plane.post(`${at}/pods/a/eviction${query}`, { metadata: { name: 'a' } });
      expect([evicted.status, ofBudgets()]).toEqual([201, wanted]);
    }
  });
});
