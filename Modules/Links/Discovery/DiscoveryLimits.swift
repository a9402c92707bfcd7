/// Limits on what neighbours, honest or not, can cost this peer.
package enum DiscoveryLimits {
  /// Candidates that are stored, of all interfaces together.
  package static let candidates = 256
  /// Bytes that the names and addresses of candidates may take, of all interfaces together.
  package static let candidateBytes = 64 << 10
  /// Addresses of one candidate on one interface.
  static let addresses = 8
  /// Interfaces that are used at once.
  static let interfaces = 16
  /// Packets of one interface that are read in a second; the others are dropped.
  static let packetsPerSecond = 500
  /// Questions of one source that are answered in a second.
  static let answersPerSecond = 10
  /// Questions of one packet that are processed.
  static let questions = 32
  /// Sources that are counted separately; all others count as one.
  static let sources = 256
  /// Answers that wait to be sent on one interface; beyond that questions get none.
  static let waitingAnswers = 64
  /// The interval between attempts to dial candidates that have never proved themselves, all together.
  package static let unprovenDialInterval = Duration.seconds(1)
}
