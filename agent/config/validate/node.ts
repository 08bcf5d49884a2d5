/** Validation of the node's identity and of its registration. */
import { isIP } from 'node:net';
import { dns1123SubdomainErrors, labelValueErrors, qualifiedNameErrors } from '#api/meta/names.ts';
import { isNodesOwnLabel } from '#api/meta/node-labels.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

function checkNodeIP({ nodeIP }: AgentConfig): readonly ConfigFieldError[] {
  if (nodeIP === '') return [];
  const families = nodeIP.split(',').map((address) => isIP(address.trim()));
  if (families.includes(0)) {
    return [errorOf('nodeIP', 'must be an IP address, or two separated by a comma', { badValue: nodeIP })];
  }
  if (families.length === 1 || (families.length === 2 && families[0] !== families[1])) return [];
  return [errorOf('nodeIP', 'must be one address, or one of each family', { badValue: nodeIP })];
}

function checkLabels({ nodeLabels, vocabulary }: AgentConfig): readonly ConfigFieldError[] {
  const names = VOCABULARIES[vocabulary];
  return Object.entries(nodeLabels).flatMap(([key, value]) => {
    const path = `[${key}]`;
    const errors = [
      ...qualifiedNameErrors(key).map((detail) => errorOf('nodeLabels', detail, { badValue: key, path })),
      ...labelValueErrors(value).map((detail) => errorOf('nodeLabels', detail, { badValue: value, path })),
    ];
    if (isNodesOwnLabel(key, names)) return errors;
    const detail = `of the platform's labels only those below ${names.nodeAgentLabelDomain}/ and node.${names.domain}/ and the well-known ones can be set`;
    const options = { kind: 'FieldValueForbidden', badValue: key, path, others: ['vocabulary'] } as const;
    return [...errors, errorOf('nodeLabels', detail, options)];
  });
}

function checkTaints({ registerWithTaints }: AgentConfig): readonly ConfigFieldError[] {
  const seen = new Set<string>();
  return registerWithTaints.flatMap(({ key, value = '', effect }, index) => {
    const at = (member: string): string => `[${index}].${member}`;
    const errors = [
      ...qualifiedNameErrors(key).map((detail) =>
        errorOf('registerWithTaints', detail, { badValue: key, path: at('key') }),
      ),
      ...labelValueErrors(value).map((detail) =>
        errorOf('registerWithTaints', detail, { badValue: value, path: at('value') }),
      ),
    ];
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const detail = 'duplicate key and effect';
      const options = { kind: 'FieldValueDuplicate', badValue: pair, path: `[${index}]` } as const;
      errors.push(errorOf('registerWithTaints', detail, options));
    }
    seen.add(pair);
    return errors;
  });
}

/** Returns the validation errors of the node's identity. */
export function validateNode(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkNodeIP(config), ...checkLabels(config), ...checkTaints(config)];
  const { hostnameOverride, bootstrapKubeconfig, platconfig } = config;
  if (hostnameOverride !== '') {
    const named = dns1123SubdomainErrors(hostnameOverride.trim().toLowerCase());
    errors.push(
      ...named.map((detail) => errorOf('hostnameOverride', detail, { badValue: hostnameOverride })),
    );
  }
  if (bootstrapKubeconfig !== '' && platconfig === '') {
    const detail = 'needs --platconfig, the file that the first certificate is written to';
    const options = { badValue: bootstrapKubeconfig, others: ['platconfig'] };
    errors.push(errorOf('bootstrapKubeconfig', detail, options));
  }
  return errors;
}
