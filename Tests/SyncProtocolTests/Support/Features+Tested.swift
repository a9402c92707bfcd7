import SyncProtocol

extension Features {
  /// What tests have peers offer: what they do by themselves, and what is whole but not offered yet.
  static let tested: Features = [.supported, .cursors]
}
