import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ApiObject } from '../resources/contract.ts';
import { localApiObject, localApis, ownGroup } from './automanaged.ts';
import { replacesLocal } from './replace-local.ts';

const vocabulary = VOCABULARIES.kubernetes;
const METRICS = `v1beta1.metrics.${vocabulary.apiGroupDomain}`;
const resources = builtinResources({ vocabulary, gates: new Set(), kinds: {} });
const apis = localApis(resources, vocabulary);

function local(name: string): ApiObject {
  const api = apis.get(name);
  if (api === undefined) throw new Error(`${name} is there`);
  return localApiObject(api, vocabulary);
}

const of = (plural: string): { readonly resource: (typeof resources)[number] } => {
  const resource = resources.find(({ info }) => info.plural === plural);
  if (resource === undefined) throw new Error(`${plural} are there`);
  return { resource };
};

/** As the manifest of an extension server has it. */
const remote = (name: string): ApiObject => ({
  apiVersion: `${ownGroup(vocabulary)}/v1`,
  kind: 'APIService',
  metadata: { name },
  spec: { service: { namespace: vocabulary.systemNamespace, name: 'server' } },
});
const withoutService = (name: string): ApiObject => ({ ...remote(name), spec: {} });

describe('replacesLocal', () => {
  test.each<[string, string, ApiObject, ApiObject | undefined, boolean]>([
    ['another server’s, of the metrics API', 'apiservices', remote(METRICS), local(METRICS), true],
    ['what is not there', 'apiservices', remote(METRICS), undefined, false],
    ['another server’s by another one’s', 'apiservices', remote(METRICS), remote(METRICS), false],
    ['ours by one that leads nowhere', 'apiservices', withoutService(METRICS), local(METRICS), false],
    ['one that another client created', 'apiservices', remote(METRICS), withoutService(METRICS), false],
    ['other groups of this server', 'apiservices', remote('v1.apps'), local('v1.apps'), false],
    ['objects of other kinds', 'namespaces', remote(METRICS), local(METRICS), false],
  ])('%s', (_, plural, object, current, expected) =>
    expect(replacesLocal(of(plural), object, current, vocabulary)).toBe(expected),
  );
});
