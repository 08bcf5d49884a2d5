/** Additional checks of the level `restricted` beyond `baseline`. Pure. Source: upstream's pod security
 *  standards, release 1.24. */
import type { Volume } from '#api/gen/core-v1.ts';
import { type AnyContainer, type Check, inContainers } from './baseline.ts';

const VOLUMES: ReadonlySet<keyof Volume> = new Set<keyof Volume>([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

const volumes: Check = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter(
    (volume) => ![...VOLUMES].some((source) => volume[source] !== undefined),
  );
  return bad.length === 0
    ? undefined
    : {
        what: 'restricted volume types',
        where: bad
          .map(({ name }) => `volume ${JSON.stringify(name)} uses a restricted volume type`)
          .join(', '),
      };
};

const escalation: Check = (look) =>
  inContainers(
    look,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
    'allowPrivilegeEscalation != false',
    'set securityContext.allowPrivilegeEscalation=false',
  );

/** Evaluates the field of the container, else of its pod. */
const inherits =
  <T>(
    ofPod: T | undefined,
    ofContainer: (container: AnyContainer) => T | undefined,
    isBad: (value: T | undefined) => boolean,
  ) =>
  (container: AnyContainer): boolean =>
    isBad(ofContainer(container) ?? ofPod);

const nonRoot: Check = (look) =>
  inContainers(
    look,
    inherits(
      look.spec.securityContext?.runAsNonRoot,
      ({ securityContext }) => securityContext?.runAsNonRoot,
      (value) => value !== true,
    ),
    'runAsNonRoot != true',
    'set securityContext.runAsNonRoot=true',
    'pod or ',
  );

/** Since release 1.23. */
const nonRootUser: Check = (look) => {
  if (look.minor < 23) return undefined;
  if (look.spec.securityContext?.runAsUser === 0)
    return { what: 'runAsUser=0', where: 'pod must not set runAsUser=0' };
  return inContainers(
    look,
    ({ securityContext }) => securityContext?.runAsUser === 0,
    'runAsUser=0',
    'not set runAsUser=0',
  );
};

/** Since release 1.19. */
const seccomp: Check = (look) => {
  if (look.minor < 19) return undefined;
  const isBad = (type: string | undefined): boolean => type !== 'RuntimeDefault' && type !== 'Localhost';
  return inContainers(
    look,
    inherits(
      look.spec.securityContext?.seccompProfile?.type,
      ({ securityContext }) => securityContext?.seccompProfile?.type,
      isBad,
    ),
    'seccompProfile',
    'set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
    'pod or ',
  );
};

/** Since release 1.22. */
const capabilities: Check = (look) => {
  if (look.minor < 22) return undefined;
  const isBad = ({ securityContext }: AnyContainer): boolean => {
    const { drop = [], add = [] } = securityContext?.capabilities ?? {};
    return !drop.includes('ALL') || add.some((name) => name !== 'NET_BIND_SERVICE');
  };
  return inContainers(
    look,
    isBad,
    'unrestricted capabilities',
    'set securityContext.capabilities.drop=["ALL"], and may add only "NET_BIND_SERVICE"',
  );
};

export const RESTRICTED: readonly Check[] = [
  volumes,
  escalation,
  nonRoot,
  nonRootUser,
  seccomp,
  capabilities,
];
