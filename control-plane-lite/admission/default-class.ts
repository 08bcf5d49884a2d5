/** Sets the default class of claims and ingresses that name none. Source: default storage class, document 3
 *  §2.5; upstream's plugins DefaultStorageClass and DefaultIngressClass, release 1.24. */
import type { PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { Ingress } from '#api/gen/networking-v1.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { setInSpec } from './spec-draft.ts';

interface ClassedKind {
  readonly plugin: string;
  /** `group/plural` of the resource with a class. */
  readonly resource: string;
  /** Group and name of the classes, and their kind for messages. */
  readonly classes: readonly [group: string, plural: string, kind: string];
  /** Annotations that mark the default class. */
  readonly marks: readonly string[];
  /** Reports whether an object specifies its class, even an empty one. */
  readonly isSpecified: (object: ApiObject) => boolean;
  readonly give: (draft: ApiObject, name: string) => void;
}

function createDefaultClass({ objects }: AdmissionDeps, kind: ClassedKind): AdmissionPlugin {
  const [group, plural, className] = kind.classes;
  const defaults = new Set<string>();
  objects(group, plural).follow(({ type, current }) => {
    const { annotations = {} } = current.object().metadata;
    const marked = type !== 'DELETED' && kind.marks.some((mark) => annotations[mark] === 'true');
    if (marked) defaults.add(current.name);
    else defaults.delete(current.name);
  });
  return {
    name: kind.plugin,
    operations: ['CREATE'],
    resources: new Set([kind.resource]),
    mutate(request) {
      const { object, subresource } = request;
      if (object === undefined || subresource !== '' || kind.isSpecified(object)) return;
      const [name, another] = defaults;
      if (another !== undefined)
        throw refusal(request, `${defaults.size} default ${className} were found, only 1 allowed`);
      if (name !== undefined) kind.give(object, name);
    },
  };
}

export function createDefaultStorageClass(deps: AdmissionDeps): AdmissionPlugin {
  const { domain, apiGroupDomain } = deps.vocabulary;
  const annotation = `volume.beta.${domain}/storage-class`;
  return createDefaultClass(deps, {
    plugin: 'DefaultStorageClass',
    resource: '/persistentvolumeclaims',
    classes: [`storage.${apiGroupDomain}`, 'storageclasses', 'StorageClasses'],
    marks: [`storageclass.${domain}/is-default-class`, `storageclass.beta.${domain}/is-default-class`],
    isSpecified: (object) =>
      object.metadata.annotations?.[annotation] !== undefined ||
      typed<PersistentVolumeClaim>(object).spec?.storageClassName !== undefined,
    give: (draft, storageClassName) =>
      setInSpec<NonNullable<PersistentVolumeClaim['spec']>>(draft, { storageClassName }),
  });
}

export function createDefaultIngressClass(deps: AdmissionDeps): AdmissionPlugin {
  const { domain, apiGroupDomain } = deps.vocabulary;
  const annotation = `${domain}/ingress.class`;
  const group = `networking.${apiGroupDomain}`;
  return createDefaultClass(deps, {
    plugin: 'DefaultIngressClass',
    resource: `${group}/ingresses`,
    classes: [group, 'ingressclasses', 'IngressClasses'],
    marks: [`ingressclass.${domain}/is-default-class`],
    isSpecified: (object) =>
      object.metadata.annotations?.[annotation] !== undefined ||
      typed<Ingress>(object).spec?.ingressClassName !== undefined,
    give: (draft, ingressClassName) => setInSpec<NonNullable<Ingress['spec']>>(draft, { ingressClassName }),
  });
}
