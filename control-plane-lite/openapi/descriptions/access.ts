/** Descriptions of authentication and authorization kinds. Data. */
import type { Texts } from './texts.ts';

export const ACCESS_TEXTS: Texts = {
  'rbac.authorization/v1.Role': {
    is: 'Set of permissions within one namespace.',
    members: { rules: 'Permissions. They are additive; no rule denies anything.' },
  },
  'rbac.authorization/v1.ClusterRole': {
    is: 'Set of permissions in the whole cluster, or in the namespaces of the role bindings that refer to it.',
    members: {
      rules:
        'Permissions. They are additive; no rule denies anything. Overwritten by a controller if aggregationRule is set.',
      aggregationRule: 'Selects cluster roles whose rules a controller combines into rules.',
    },
  },
  'rbac.authorization/v1.RoleBinding': {
    is: 'Grants the permissions of a role, or of a cluster role, within one namespace.',
    members: {
      subjects: 'Users, groups and service accounts that receive the permissions.',
      roleRef: 'Role in the same namespace, or cluster role, that holds the permissions. Cannot be changed.',
    },
  },
  'rbac.authorization/v1.ClusterRoleBinding': {
    is: 'Grants the permissions of a cluster role in the whole cluster.',
    members: {
      subjects: 'Users, groups and service accounts that receive the permissions.',
      roleRef: 'Cluster role that holds the permissions. Cannot be changed.',
    },
  },
  'rbac.authorization/v1.PolicyRule': {
    is: 'Permission for a set of verbs on a set of resources or URL paths.',
    members: {
      verbs: 'Allowed verbs, such as get, list or watch. * allows all verbs.',
      apiGroups: 'API groups of the resources. "" is the core group; * matches all groups.',
      resources:
        'Resources, or subresources such as pods/log. * matches all resources and subresources; */scale matches this subresource of all resources.',
      resourceNames: 'Names of the objects that the rule is limited to. Empty matches all objects.',
      nonResourceURLs:
        'URL paths that belong to no resource. A trailing * matches any suffix. Valid in cluster roles only, and not together with resources.',
    },
  },
  'rbac.authorization/v1.RoleRef': {
    is: 'Reference to a role or cluster role.',
    members: {
      apiGroup: 'API group of the role.',
      kind: 'Kind of the role: Role or ClusterRole.',
      name: 'Name of the role.',
    },
  },
  'rbac.authorization/v1.Subject': {
    is: 'User, group or service account that a binding refers to.',
    members: {
      kind: 'Kind of the subject: User, Group or ServiceAccount.',
      apiGroup:
        'API group of the kind. Defaults to the empty string for service accounts, and to the group of this API for users and groups.',
      name: 'Name of the subject.',
      namespace: 'Namespace of a service account. Must be empty for users and groups.',
    },
  },
  'rbac.authorization/v1.AggregationRule': {
    is: 'Rule that combines the permissions of other cluster roles.',
    members: {
      clusterRoleSelectors: 'Label selectors. A cluster role that matches at least one of them contributes.',
    },
  },
  'authorization/v1.ResourceAttributes': {
    is: 'Attributes of a request for a resource.',
    members: {
      namespace:
        'Namespace of the request. Empty for cluster-scoped resources, and for requests across all namespaces.',
      verb: 'Verb, such as get, list, watch, create, update, patch, delete or proxy. * is all verbs.',
      group: 'API group of the resource. * is all groups.',
      version: 'API version of the resource. * is all versions.',
      resource: 'Resource in the plural, such as pods. * is all resources.',
      subresource: 'Subresource, such as status. Empty for the resource itself.',
      name: 'Name of the object. Empty for every object.',
    },
  },
  'authorization/v1.NonResourceAttributes': {
    is: 'Attributes of a request for a URL path that belongs to no resource.',
    members: { path: 'URL path of the request.', verb: 'HTTP method in lower case.' },
  },
  'authorization/v1.SubjectAccessReviewSpec': {
    is: 'Request to evaluate. Exactly one of resourceAttributes and nonResourceAttributes is required.',
    members: {
      resourceAttributes: 'Attributes of a request for a resource.',
      nonResourceAttributes: 'Attributes of a request for another URL path.',
      user: 'Name of the user. Without a user, at least one group is required.',
      groups: 'Groups of the user.',
      extra: 'Further attributes of the user, as supplied by the authenticator.',
      uid: 'UID of the user.',
    },
  },
  'authorization/v1.SubjectAccessReviewStatus': {
    is: 'Decision of the authorizers.',
    members: {
      allowed: 'True if the request is allowed.',
      denied:
        'True if an authorizer denied the request explicitly. If neither allowed nor denied is true, no authorizer had an opinion, and the request is rejected.',
      reason: 'Human-readable reason for the decision.',
      evaluationError:
        'Error during the evaluation. The decision stands nevertheless: it may not depend on the missing data.',
    },
  },
  'authentication/v1.TokenRequestSpec': {
    is: 'Properties of the requested token.',
    members: {
      audiences:
        'Intended recipients of the token. A recipient rejects tokens that do not name it. If empty, the audiences of the API server apply.',
      expirationSeconds:
        'Requested lifetime of the token in seconds, at least 600. The server may issue a token with another lifetime. Defaults to 3600.',
      boundObjectRef:
        'Pod or secret that the token is bound to. The token becomes invalid when this object is deleted. If absent, the token is bound to the service account only.',
    },
  },
  'certificates/v1.CertificateSigningRequest': {
    is: 'Request for a certificate, which is approved or denied and then signed asynchronously.',
  },
  'certificates/v1.CertificateSigningRequestSpec': {
    is: 'Requested certificate and the requesting user. Cannot be changed.',
    members: {
      request: 'PKCS#10 certificate request in PEM, encoded in base64.',
      signerName: 'Signer that is requested to sign, in the form domain/name.',
      expirationSeconds:
        'Requested validity of the certificate in seconds, at least 600. The signer may choose another one. If absent, the signer decides.',
      usages: 'Requested key usages of the certificate, such as digital signature or client auth.',
      username: 'Name of the requesting user. Set by the server.',
      uid: 'UID of the requesting user. Set by the server.',
      groups: 'Groups of the requesting user. Set by the server.',
      extra: 'Further attributes of the requesting user. Set by the server.',
    },
  },
  'certificates/v1.CertificateSigningRequestStatus': {
    members: {
      certificate:
        'Issued certificate, followed by intermediate certificates, in PEM, encoded in base64. Set by the signer after approval; cannot be changed afterwards.',
    },
  },
  'core/v1.ServiceAccount': {
    is: 'Identity of the processes of a pod towards the API server.',
    members: {
      secrets:
        'Secrets that pods of this account may reference. Enforced only if the annotation enforce-mountable-secrets of the account is true.',
      imagePullSecrets:
        'Secrets for pulling images. They are copied to pods of this account that specify none.',
      automountServiceAccountToken:
        'Whether pods of this account mount a token. A pod can override it. If absent, pods mount a token.',
    },
  },
};
