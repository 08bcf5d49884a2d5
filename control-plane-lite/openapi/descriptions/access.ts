/** Descriptions of authentication and authorization kinds. Data. */
import type { Texts } from './texts.ts';

export const ACCESS_TEXTS: Texts = {
  'rbac.authorization/v1.Role': {
    is: 'Rights in one namespace.',
    members: { rules: 'The rights; they only ever add up.' },
  },
  'rbac.authorization/v1.ClusterRole': {
    is: 'Rights in the whole cluster, or in any namespace that binds it.',
    members: {
      rules: 'The rights; they only ever add up.',
      aggregationRule: 'Takes the rights from other cluster roles instead.',
    },
  },
  'rbac.authorization/v1.RoleBinding': {
    is: 'Gives rights in one namespace.',
    members: { subjects: 'Who gets them.', roleRef: 'Role that has them. Cannot be changed.' },
  },
  'rbac.authorization/v1.ClusterRoleBinding': {
    is: 'Gives rights in the whole cluster.',
    members: { subjects: 'Who gets them.', roleRef: 'Cluster role that has them. Cannot be changed.' },
  },
  'rbac.authorization/v1.PolicyRule': {
    is: 'What may be done with what.',
    members: {
      verbs: 'What may be done; * is everything.',
      apiGroups: 'Groups of the resources; "" is the core group.',
      resources: 'Resources, or parts of them such as pods/log; * is all.',
      resourceNames: 'Names of the only objects that it holds for. Default: all.',
      nonResourceURLs: 'Paths that are no resource; only in cluster roles.',
    },
  },
  'rbac.authorization/v1.RoleRef': {
    is: 'A role or cluster role.',
    members: { apiGroup: 'Group of the role.', kind: 'Role or ClusterRole.', name: 'Name of the role.' },
  },
  'rbac.authorization/v1.Subject': {
    is: 'A user, a group of users or a service account.',
    members: {
      kind: 'User, Group or ServiceAccount.',
      apiGroup: 'Group of the kind; empty for service accounts.',
      name: 'Name of the subject.',
      namespace: 'Namespace of a service account.',
    },
  },
  'rbac.authorization/v1.AggregationRule': {
    is: 'Where a cluster role takes its rights from.',
    members: { clusterRoleSelectors: 'Selects the cluster roles; each of them counts.' },
  },
  'authorization/v1.ResourceAttributes': {
    is: 'A request for a resource.',
    members: {
      namespace: 'Namespace; empty for resources without one, or for all.',
      verb: 'What is to be done.',
      group: 'Group of the resource.',
      version: 'Version of the resource.',
      resource: 'The resource.',
      subresource: 'Part of the resource.',
      name: 'Name of the object; empty for all.',
    },
  },
  'authorization/v1.NonResourceAttributes': {
    is: 'A request for a path that is no resource.',
    members: { path: 'The path.', verb: 'HTTP method in lower case.' },
  },
  'authorization/v1.SubjectAccessReviewSpec': {
    is: 'Who wants to do what.',
    members: {
      resourceAttributes: 'What is to be done with a resource.',
      nonResourceAttributes: 'What is to be done with a path.',
      user: 'Name of the user.',
      groups: 'Groups of the user.',
      extra: 'What else the authenticator knows of the user.',
      uid: 'UID of the user.',
    },
  },
  'authorization/v1.SubjectAccessReviewStatus': {
    is: 'Whether it is allowed.',
    members: {
      allowed: 'It is allowed.',
      denied: 'It is refused for certain, whatever else may say so.',
      reason: 'Why.',
      evaluationError: 'What could not be found out.',
    },
  },
  'authentication/v1.TokenRequestSpec': {
    is: 'Which token is wanted.',
    members: {
      audiences: 'For whom the token is good.',
      expirationSeconds: 'Seconds after which it is no longer good. Default 3600.',
      boundObjectRef: 'Object with which the token goes.',
    },
  },
  'certificates/v1.CertificateSigningRequest': { is: 'A wish for a signed certificate.' },
  'certificates/v1.CertificateSigningRequestSpec': {
    is: 'Which certificate is wanted, and by whom. Cannot be changed.',
    members: {
      request: 'The request in PEM, in base64.',
      signerName: 'Who is to sign it.',
      expirationSeconds: 'Seconds for which it is to be good. The signer may decide otherwise.',
      usages: 'What the certificate is for.',
      username: 'Who asked. Set by the server.',
      uid: 'UID of who asked. Set by the server.',
      groups: 'Groups of who asked. Set by the server.',
      extra: 'What else is known of who asked. Set by the server.',
    },
  },
  'certificates/v1.CertificateSigningRequestStatus': {
    members: { certificate: 'The certificate in PEM, in base64.' },
  },
  'core/v1.ServiceAccount': {
    is: 'Who the processes of a pod are to the API server.',
    members: {
      secrets: 'Secrets that its pods may use.',
      imagePullSecrets: 'Secrets for pulling the images of its pods.',
      automountServiceAccountToken: 'Whether its pods have a token mounted.',
    },
  },
};
