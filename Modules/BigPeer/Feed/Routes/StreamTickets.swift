#if Server
  import CRDTCore
  import DunlinFeed
  import HTTPTypes
  import Synchronization

  /// Tickets with which a browser's `EventSource` opens a stream of changes, as it cannot send a key.
  ///
  /// A ticket stands for one query and the key that asked for it, and permits only to read that stream.
  /// Tickets are only in memory: after a restart of the server a client asks for another one.
  final class StreamTickets: Sendable {
    /// What a ticket permits.
    struct Ticket {
      /// The id of the application.
      let application: String
      let key: APIKey
      let filter: FeedFilter
      /// Where the first stream starts.
      let start: FeedPosition
      /// Milliseconds since 1970.
      let made: Int64
      var isOpened = false

      /// The time from which on the ticket is refused, in milliseconds since 1970.
      var end: Int64 { made + (isOpened ? StreamTickets.lifetime : StreamTickets.openingTime) }
    }

    /// How long a ticket may stay unopened, in milliseconds.
    static let openingTime: Int64 = 60_000
    /// How long an opened ticket is good for reconnecting, in milliseconds.
    static let lifetime: Int64 = 24 * 3_600_000
    /// The maximum number of tickets of one key at once.
    static let limitByKey = 256
    /// The maximum number of tickets at once.
    static let limit = 8_192

    private let tickets = Mutex<[SecretHash: Ticket]>([:])

    /// Makes a ticket.
    ///
    /// - Parameter ticket: What it permits.
    /// - Returns: The text, which is secret and is stored nowhere.
    /// - Throws: `busy` when there are too many, of the key or of all.
    ///
    /// - Complexity: O(*n*) for *n* tickets.
    func make(_ ticket: Ticket) throws(Problem) -> String {
      let secret = Secret()
      let isMade = tickets.withLock { tickets in
        tickets = tickets.filter { $0.value.end > ticket.made }
        guard tickets.count < Self.limit,
          tickets.values.count(where: { $0.key.id == ticket.key.id }) < Self.limitByKey
        else { return false }
        tickets[SecretHash(of: secret.bytes)] = ticket
        return true
      }
      guard isMade else { throw Problem.busy("the key has \(Self.limitByKey) tickets of streams at once") }
      return secret.text
    }

    /// Opens a ticket, for the first time or once more.
    ///
    /// - Parameters:
    ///   - text: The text of the ticket.
    ///   - now: Milliseconds since 1970.
    /// - Returns: What the ticket permits.
    /// - Throws: `authentication` for a ticket that is unknown or has ended.
    func open(_ text: String, at now: Int64) throws(Problem) -> Ticket {
      let ticket = Secret(text[...]).flatMap { secret in
        tickets.withLock { tickets -> Ticket? in
          let hash = SecretHash(of: secret.bytes)
          guard var ticket = tickets[hash], ticket.end > now else {
            tickets[hash] = nil
            return nil
          }
          ticket.isOpened = true
          tickets[hash] = ticket
          return ticket
        }
      }
      guard let ticket else {
        throw Problem(
          .unauthorized, "authentication",
          "this ticket is unknown or has ended: ask for another one at /api/v4/changes/ticket")
      }
      return ticket
    }
  }
#endif
