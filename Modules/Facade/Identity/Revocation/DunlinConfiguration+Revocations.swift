extension DunlinConfiguration {
  /// Checks that the identity can do what the configuration asks for.
  ///
  /// - Throws: `argument` when it asks for revocations and the identity has no certificates.
  func check(_ identity: DunlinIdentity) throws(DunlinError) {
    guard let revocationsNeededWithin else { return }
    guard revocationsNeededWithin > .zero else {
      throw DunlinError(.argument, "revocationsNeededWithin is a time above zero")
    }
    switch identity.proof {
    case .none: break
    #if TLS
      case .sharedKey: break
      case .certificate, .online: return
    #endif
    }
    throw DunlinError(
      .argument,
      "revocationsNeededWithin needs an identity with certificates: nothing is revoked with the \(identity.proof.name) identity"
    )
  }
}
