/** Validation of the node's identity and of its registration. */
import { isIP } from 'node:net';
import { dns1123SubdomainFaults, labelValueFaults, qualifiedNameFaults } from '#api/meta/names.ts';
import { isNodesOwnLabel } from '#api/meta/node-labels.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFault, faultOf } from './fault.ts';

function checkNodeIP({ nodeIP }: AgentConfig): readonly ConfigFault[] {
  if (nodeIP === '') return [];
  const families = nodeIP.split(',').map((address) => isIP(address.trim()));
  if (families.includes(0)) {
    return [faultOf('nodeIP', 'must be an IP address, or two separated by a comma', { badValue: nodeIP })];
  }
  if (families.length === 1 || (families.length === 2 && families[0] !== families[1])) return [];
  return [faultOf('nodeIP', 'must be one address, or one of each family', { badValue: nodeIP })];
}

function checkLabels({ nodeLabels, vocabulary }: AgentConfig): readonly ConfigFault[] {
  const names = VOCABULARIES[vocabulary];
  return Object.entries(nodeLabels).flatMap(([key, value]) => {
    const path = `[${key}]`;
    const faults = [
      ...qualifiedNameFaults(key).map((detail) => faultOf('nodeLabels', detail, { badValue: key, path })),
      ...labelValueFaults(value).map((detail) => faultOf('nodeLabels', detail, { badValue: value, path })),
    ];
    if (isNodesOwnLabel(key, names)) return faults;
    const detail = `of the platform's labels only those below ${names.nodeAgentLabelDomain}/ and node.${names.domain}/ and the well-known ones can be set`;
    const options = { kind: 'FieldValueForbidden', badValue: key, path, others: ['vocabulary'] } as const;
    return [...faults, faultOf('nodeLabels', detail, options)];
  });
}

function checkTaints({ registerWithTaints }: AgentConfig): readonly ConfigFault[] {
  const seen = new Set<string>();
  return registerWithTaints.flatMap(({ key, value = '', effect }, index) => {
    const at = (member: string): string => `[${index}].${member}`;
    const faults = [
      ...qualifiedNameFaults(key).map((detail) =>
        faultOf('registerWithTaints', detail, { badValue: key, path: at('key') }),
      ),
      ...labelValueFaults(value).map((detail) =>
        faultOf('registerWithTaints', detail, { badValue: value, path: at('value') }),
      ),
    ];
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const detail = 'duplicate key and effect';
      const options = { kind: 'FieldValueDuplicate', badValue: pair, path: `[${index}]` } as const;
      faults.push(faultOf('registerWithTaints', detail, options));
    }
    seen.add(pair);
    return faults;
  });
}

/** Returns the validation errors of the node's identity. */
export function validateNode(config: AgentConfig): readonly ConfigFault[] {
  const faults = [...checkNodeIP(config), ...checkLabels(config), ...checkTaints(config)];
  const { hostnameOverride, bootstrapKubeconfig, platconfig } = config;
  if (hostnameOverride !== '') {
    const named = dns1123SubdomainFaults(hostnameOverride.trim().toLowerCase());
    faults.push(
      ...named.map((detail) => faultOf('hostnameOverride', detail, { badValue: hostnameOverride })),
    );
  }
  if (bootstrapKubeconfig !== '' && platconfig === '') {
    const detail = 'needs --platconfig, the file that the first certificate is written to';
    const options = { badValue: bootstrapKubeconfig, others: ['platconfig'] };
    faults.push(faultOf('bootstrapKubeconfig', detail, options));
  }
  return faults;
}
