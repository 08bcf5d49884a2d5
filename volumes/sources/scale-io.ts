/** scaleIO: a volume of a ScaleIO system, mapped to the machine by its gateway. Source: volume sources,
 *  document 3 §2.3 and §2.5. */
import type { ScaleIOPersistentVolumeSource, ScaleIOVolumeSource } from '#api/gen/core-v1.ts';
import type { DetachServices, DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { byId } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { readSecretRef } from '../objects/secret-ref.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText, MissingProgramError } from '../programs/errors.ts';
import type { GatewayAccess, ScaleIoGateway, SystemVolume } from '../storage-services/scale-io.ts';

type Spec = ScaleIOVolumeSource | ScaleIOPersistentVolumeSource;

const MODES: readonly string[] = ['ThickProvisioned', 'ThinProvisioned'];

/** @returns the volume's name @throws VolumeSetupError with field, value and expectation */
function check({ gateway, system, sslEnabled = false, storageMode = '', volumeName }: Spec): string {
  const url = URL.parse(gateway);
  const secure = url?.protocol === 'https:';
  if (url === null || (!secure && url.protocol !== 'http:') || url.username !== '' || url.search !== '') {
    throw badField('scaleIO.gateway', gateway, 'must be an address such as https://gateway.example:443/api');
  }
  if (sslEnabled && !secure) {
    throw badField('scaleIO.gateway', gateway, 'must begin with https://, as scaleIO.sslEnabled is true');
  }
  if (storageMode !== '' && !MODES.includes(storageMode)) {
    throw badField('scaleIO.storageMode', storageMode, `must be one of ${MODES.join(', ')}`);
  }
  checkName('scaleIO.system', system, 'the name of a system');
  return checkName('scaleIO.volumeName', volumeName, 'the name of a volume');
}

interface Access extends Omit<GatewayAccess, 'username' | 'password'> {
  readonly secret: string;
  readonly secretNamespace: string;
}

function accessOf({ gateway, sslEnabled = false, secretRef }: Spec, namespace: string): Access {
  const own = 'namespace' in secretRef ? secretRef.namespace : undefined;
  const secretNamespace = own === undefined || own === '' ? namespace : own;
  return { gateway, verify: sslEnabled, secret: secretRef.name ?? '', secretNamespace };
}

async function open(
  access: Access,
  { objects }: Pick<DetachServices, 'objects'>,
  signal: AbortSignal,
): Promise<ScaleIoGateway> {
  if (objects === undefined) throw new VolumeSetupError('cannot read the secret of the ScaleIO gateway');
  const secret = await readSecretRef(objects, access.secretNamespace, { name: access.secret });
  const username = secret.get('username')?.toString('utf8') ?? '';
  const password = secret.get('password')?.toString('utf8') ?? '';
  if (username === '' || password === '') {
    throw new VolumeSetupError('the secret of scaleIO.secretRef must have username and password');
  }
  const { openGateway } = await import('../storage-services/scale-io.ts');
  return openGateway({ gateway: access.gateway, verify: access.verify, username, password }, signal);
}

const GUID_TIMEOUT_MS = 30_000;

/** Installation directory of the client's program. */
const SDC_FOLDER = '/opt/emc/scaleio/sdc/bin';

/** Returns the GUID of the machine's client. */
async function guidOf({ run }: Pick<DeviceServices, 'run'>, signal: AbortSignal): Promise<string> {
  const query = (program: string): Promise<ProgramResult> =>
    run(program, ['--query_guid'], { signal, timeoutMs: GUID_TIMEOUT_MS });
  const result = await query('drv_cfg').catch(async (thrown: unknown) => {
    if (!(thrown instanceof MissingProgramError)) throw thrown;
    try {
      return await query(`${SDC_FOLDER}/drv_cfg`);
    } catch (second) {
      // If both are missing, the first error names the package.
      throw second instanceof MissingProgramError ? thrown : second;
    }
  });
  const guid = result.stdout.trim();
  if (result.code !== 0 || guid === '') throw new VolumeSetupError(failText('drv_cfg', result));
  return guid;
}

/** Checks that the volume is in the specified pool and domain. */
function checkPlace({ storagePool = '', protectionDomain = '' }: Spec, volume: SystemVolume): void {
  if (storagePool !== '' && storagePool !== volume.storagePool) {
    throw badField('scaleIO.storagePool', storagePool, `the volume is in ${volume.storagePool}`);
  }
  if (protectionDomain !== '' && protectionDomain !== volume.protectionDomain) {
    throw badField(
      'scaleIO.protectionDomain',
      protectionDomain,
      `the volume is in ${volume.protectionDomain}`,
    );
  }
}

export const scaleIoPlugin: DevicePlugin<'scaleIO'> = {
  name: 'scaleIO',
  about: {
    summary: 'A volume of a ScaleIO (PowerFlex) system.',
    use: 'both',
    block: true,
    mountOptions: true,
    programs: ['drv_cfg'],
    notes: [
      'The agent maps and unmaps the volume through the gateway, with the user name and password of the secret.',
      'The gateway’s certificate is verified only if sslEnabled is true.',
      'storageMode is meant for the provisioner; storagePool and protectionDomain must match the volume.',
    ],
  },
  dirName: 'scaleio',

  identify(spec, domain) {
    const name = check(spec);
    return {
      uniqueName: `${domain}/scaleio/${spec.gateway}/${spec.system}/${name}`,
      fsType: checkFsType('scaleIO.fsType', spec.fsType, 'xfs'),
      readOnly: spec.readOnly === true,
    };
  },

  async attach(spec, services, save, signal) {
    const access = accessOf(spec, services.namespace);
    const gateway = await open(access, services, signal);
    const systemId = await gateway.systemId(spec.system);
    const volume = await gateway.volume(check(spec));
    checkPlace(spec, volume);
    const machineId = await gateway.machineId(systemId, await guidOf(services, signal));
    const { secret, secretNamespace, verify } = access;
    const state = { gateway: access.gateway, verify: String(verify), secret, secretNamespace };
    await save({ ...state, volumeId: volume.id, machineId });
    await gateway.map(volume.id, machineId);
    return services.waitForDevice(byId(services.paths, `emc-vol-${systemId}-${volume.id}`), signal);
  },

  async detach(state, services, signal) {
    const { gateway = '', verify, secret = '', secretNamespace = '', volumeId = '', machineId = '' } = state;
    if (volumeId === '' || machineId === '') return;
    const access = { gateway, verify: verify === 'true', secret, secretNamespace };
    const opened = await open(access, services, signal);
    await opened.unmap(volumeId, machineId);
  },
};

export const scaleIO: SourcePlugin = defineDeviceSource(scaleIoPlugin);
