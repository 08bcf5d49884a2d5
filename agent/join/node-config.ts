/** The first configuration of a node that has joined: its server lets in whom the cluster vouches for, and nobody
 *  else. */
import type { Vocabulary } from '#api/vocabulary.ts';

export interface NodeConfigOptions {
  /** Where the authority of the cluster is, by which its clients are known. */
  readonly authorityFile: string;
}

/** YAML of the configuration. What it says are the safe settings; all others are left to their defaults. */
export function formatNodeConfig(
  { configApiGroup, configKind }: Pick<Vocabulary, 'configApiGroup' | 'configKind'>,
  { authorityFile }: NodeConfigOptions,
): string {
  return `# Written when this machine joined its cluster, and not touched again. Flags win over it.
apiVersion: ${configApiGroup}/v1beta1
kind: ${configKind}
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: ${JSON.stringify(authorityFile)}
authorization:
  mode: Webhook
readOnlyPort: 0
rotateCertificates: true
`;
}
