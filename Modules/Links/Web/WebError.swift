#if TLS
  import CRDTCore

  /// Why a web service has not answered.
  package struct WebError: CodedError, Hashable, CustomStringConvertible {
    /// The kind of failure, by what can be done about it.
    package enum Code: String, Sendable {
      /// The service cannot be reached.
      case unreachable
      /// The service does not answer in time.
      case timedOut
      /// The service has not proved that it is the one that the address names.
      case untrusted
      /// The address of the service is not allowed.
      case notAdmitted
      /// The service's answer is not valid HTTP, or is too long.
      case answer
      /// The task was cancelled.
      case cancelled
    }

    package let code: Code
    /// One sentence, in English, without a trailing full stop; names the address.
    package let message: String
    /// The same sentence for others than the owner of this process: it names no file of this machine.
    package let publicMessage: String

    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: One sentence.
    ///   - publicMessage: What others may read in its place; `nil` if they may read the sentence.
    package init(_ code: Code, _ message: String, publicMessage: String? = nil) {
      self.code = code
      self.message = message
      self.publicMessage = publicMessage ?? message
    }

    package var description: String { message }

    /// The error of a wait that was cancelled.
    package static let cancelled = WebError(.cancelled, "The request was cancelled")
  }
#endif
