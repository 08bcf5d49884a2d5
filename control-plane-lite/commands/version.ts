/** `control-plane-lite version` and `--version`. */
import { API_RELEASE } from '../discovery/version.ts';
import { PRODUCT_VERSION, productCommit } from '../version.ts';

export function versionLine(): string {
  const { major, minor, patch } = API_RELEASE;
  const commit = productCommit().slice(0, 12);
  return `control-plane-lite ${PRODUCT_VERSION} (commit ${commit}), Kubernetes API v${major}.${minor}.${patch}, Node ${process.version}`;
}
