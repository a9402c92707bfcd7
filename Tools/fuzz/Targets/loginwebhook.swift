// with: Modules/BigPeer/Login/LoginVerdict.swift
// flags: -D Server
import CRDTCore

/// Any bytes as the answer of a login webhook: only one that says everything and nothing else grants a login.
enum Target {
  static let seeds: [[UInt8]] = [
    """
    {"authenticated": true, "userID": "ann", "expirationSeconds": 3600, "clientInfo": {"a": [1, null]},
     "identityServiceMetadata": {"van": 7},
     "permissions": {"read": {"everything": true, "queriesByCollection": {}}, "write": {"everything": true}}}
    """,
    #"{"authenticated": false}"#,
    """
    {"authenticated": true, "userID": "bob", "expirationSeconds": 60, "clientInfo": null,
     "permissions": {"read": {"everything": false, "queriesByCollection": {"cars": ["true"]}}, "write": {"everything": false}}}
    """,
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    switch LoginVerdict(json: input) {
    case .granted(let claims):
      guard case .map(let fields)? = try? JSON.parse(input) else {
        preconditionFailure("granted by no object")
      }
      precondition(fields["authenticated"] == .bool(true), "granted to nobody")
      precondition(fields["userID"] == .string(claims.userID) && 1...128 ~= claims.userID.utf8.count)
      precondition(fields["expirationSeconds"] == .int(claims.expirationSeconds))
      precondition(60...366 * 86_400 ~= claims.expirationSeconds, "granted for another time")
      precondition(PeerInformation.fits(claims.information), "granted with too much information")
      precondition(claims.clientInfo.map { JSON.text(of: $0).utf8.count <= 32 << 10 } ?? true)
      for name: TextKey in ["read", "write"] {
        guard case .map(let permissions)? = fields["permissions"],
          case .map(let permission)? = permissions[name]
        else { preconditionFailure("granted without permissions") }
        precondition(permission["everything"] == .bool(true), "granted less than everything")
        let queries = permission["queriesByCollection"]
        precondition(queries == nil || queries == .map([:]), "granted with queries")
      }
    case .denied, .restricted: precondition((try? JSON.parse(input)) != nil, "an answer without JSON")
    case .faulty(let why, let wait): precondition(!why.isEmpty && wait == nil)
    }
  }
}

// What the file needs of modules that are not built here.

enum BigPeerConfiguration {
  enum Login { static let shortestValidity = 60 }
}

enum PlainText {
  static func of(_ text: String) -> String { text }
}

enum PeerInformation {
  static let byteLimit = 256

  static func fits(_ fields: [TextKey: Value]) -> Bool { JSON.text(of: .map(fields)).utf8.count <= byteLimit }
}
