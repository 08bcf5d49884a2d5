/** Validation of the volumes of a pod: names, exactly one source each, and the rule of that source. */

import type { Volume, VolumeSource } from '../../gen/core-v1.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';
import { validateClaimSpec } from './persistent-volume.ts';
import { VOLUME_SOURCE_RULES } from './volume-sources.ts';

type SourceName = keyof VolumeSource;

const isSourceName = (name: string): name is SourceName => Object.hasOwn(VOLUME_SOURCE_RULES, name);

/** Returns the names of the sources that a volume has; one, if it is valid. */
function volumeSourceNames(volume: Volume): readonly SourceName[] {
  return Object.keys(volume).filter(
    (name): name is SourceName => isSourceName(name) && volume[name] !== undefined,
  );
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- binds the rule to its source
function validateSource<K extends SourceName>(
  errors: FieldErrors,
  volume: Volume,
  name: K,
  path: string,
): void {
  const source = volume[name];
  if (source !== undefined) VOLUME_SOURCE_RULES[name](errors, source, `${path}.${name}`);
}

function validateEphemeral(errors: FieldErrors, volume: Volume, podName: string, path: string): void {
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) return;
  const claimName = `${podName}-${volume.name}`;
  for (const reason of dns1123SubdomainErrors(claimName)) {
    errors.invalid(`${path}.name`, volume.name, `name of the volume's claim, '${claimName}', ${reason}`);
  }
  for (const member of Object.keys(template.metadata ?? {})) {
    if (member !== 'labels' && member !== 'annotations') {
      errors.forbidden(
        `${path}.ephemeral.volumeClaimTemplate.metadata.${member}`,
        'only labels and annotations may be set',
      );
    }
  }
  validateClaimSpec(errors, template.spec, `${path}.ephemeral.volumeClaimTemplate.spec`);
}

/** Returns every validation error of a pod's volumes. */
export function validateVolumes(
  errors: FieldErrors,
  volumes: readonly Volume[],
  podName: string,
  path: string,
): void {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    if (volume.name === '') errors.required(`${at}.name`);
    else errors.invalidAll(`${at}.name`, volume.name, dns1123LabelErrors(volume.name));
    if (names.has(volume.name)) errors.duplicate(`${at}.name`, volume.name);
    names.add(volume.name);
    const sources = volumeSourceNames(volume);
    if (sources.length === 0) errors.required(at, 'a volume needs a source, such as emptyDir: {}');
    for (const extra of sources.slice(1)) {
      errors.forbidden(`${at}.${extra}`, `a volume must have one source, and it has ${sources[0] ?? ''}`);
    }
    for (const source of sources) validateSource(errors, volume, source, at);
    validateEphemeral(errors, volume, podName, at);
  }
}
