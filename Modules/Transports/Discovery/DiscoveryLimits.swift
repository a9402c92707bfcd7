/// The bounds of what neighbours, honest or not, can cost this peer.
package enum DiscoveryLimits {
  /// Candidates that are remembered, of all interfaces together.
  package static let candidates = 256
  /// Bytes that the names and addresses of candidates may take, of all interfaces together.
  package static let candidateBytes = 64 << 10
  /// Addresses of one candidate on one interface.
  static let addresses = 8
  /// Interfaces that are used at once.
  static let interfaces = 16
  /// Packets of one interface that are read in a second; the rest is dropped.
  static let packetsPerSecond = 500
  /// Questions of one source that are answered in a second.
  static let answersPerSecond = 10
  /// Questions of one packet that are looked at.
  static let questions = 32
  /// Sources that are told apart; all others count as one.
  static let sources = 256
  /// Answers that wait for their moment on one interface; beyond that askers get none.
  static let waitingAnswers = 64
  /// How often a candidate is dialed that has never proved itself, of all such candidates together.
  package static let unprovenDialInterval = Duration.seconds(1)
}
