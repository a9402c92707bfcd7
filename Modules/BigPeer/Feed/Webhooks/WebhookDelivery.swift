#if Server
  import CRDTCore
  import Crypto
  import DunlinFeed
  import Facade
  import Foundation
  import HTTPTypes

  /// Events that are delivered together.
  struct WebhookDelivery: Sendable {
    /// The id of the delivery, from its position and its events; another attempt has the same id.
    let id: String
    let body: [UInt8]
    /// The position of the webhook after this delivery is acknowledged.
    let position: FeedPosition
    private let events: [Event]

    /// Encodes an event, with its values or without.
    typealias Writer = (_ event: FeedEvent, _ hasValues: Bool) -> [UInt8]

    /// The limits of one delivery, in events and bytes; and of one event with its values, in bytes.
    private enum Limit {
      static let events = 128
      static let bytes = 256 << 10
      static let eventBytes = 1 << 20
    }

    /// The length of the events' hash in an id, in bytes.
    private static let idBytes = 16

    private struct Event: Sendable {
      let item: FeedItem
      let json: [UInt8]
      let hasValues: Bool

      init(_ item: FeedItem, _ json: Writer) {
        let whole = json(item.event, true)
        self.item = item
        hasValues = whole.count <= Limit.eventBytes
        self.json = hasValues ? whole : json(item.event, false)
      }

      init(withoutValues item: FeedItem, _ json: Writer) {
        (self.item, self.json, hasValues) = (item, json(item.event, false), false)
      }
    }

    /// Divides a batch into deliveries; each has as many events as fit, and at least one.
    static func deliveries(
      of batch: FeedBatch, for webhook: Webhook, json: Writer
    ) -> [WebhookDelivery] {
      var deliveries: [WebhookDelivery] = []
      var events: [Event] = []
      var byteCount = 0
      for item in batch.items {
        let event = Event(item, json)
        if let last = events.last,
          events.count == Limit.events || byteCount + event.json.count > Limit.bytes
        {
          deliveries.append(WebhookDelivery(events, webhook, last.item.position))
          (events, byteCount) = ([], 0)
        }
        events.append(event)
        byteCount += event.json.count
      }
      if !events.isEmpty { deliveries.append(WebhookDelivery(events, webhook, batch.position)) }
      return deliveries
    }

    /// The same events in smaller deliveries, for a receiver that refuses this one as too large.
    ///
    /// Two halves of the events; or, for a single event, the event without its values.
    /// - Returns: `nil` when it cannot be smaller.
    func smaller(for webhook: Webhook, json: Writer) -> [WebhookDelivery]? {
      if events.count > 1 {
        let (first, second) = (Array(events[..<(events.count / 2)]), Array(events[(events.count / 2)...]))
        return [
          WebhookDelivery(first, webhook, first.last?.item.position ?? position),
          WebhookDelivery(second, webhook, position),
        ]
      }
      guard let event = events.first, event.hasValues, case .change = event.item.event else { return nil }
      return [WebhookDelivery([Event(withoutValues: event.item, json)], webhook, position)]
    }

    private init(_ events: [Event], _ webhook: Webhook, _ position: FeedPosition) {
      var list: [UInt8] = []
      for (index, event) in events.enumerated() {
        if index > 0 { list.append(UInt8(ascii: ",")) }
        list += event.json
      }
      // All positions within one commit are equal, so the id also depends on the events.
      let digits = SHA256.hash(data: list).prefix(Self.idBytes)
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      id = "\(position.token)-\(digits)"
      self.position = position
      self.events = events
      body =
        Array(
          #"{"webhookId":"\#(webhook.id)","deliveryId":"\#(id)","position":"\#(position.token)","events":["#
            .utf8)
        + list + Array("]}".utf8)
    }

    /// The headers of a request.
    ///
    /// The trace is that of the last change that a request with a trace has made.
    func headers(
      _ webhook: Webhook, at time: Date, _ traces: CommitTraces
    ) -> [(name: String, value: String)] {
      let trace = events.reversed().lazy.compactMap { event -> TraceContext? in
        guard case .change(let change) = event.item.event else { return nil }
        return traces[change.transaction.sequence]
      }.first
      let secrets = webhook.secrets(at: UInt64(max(time.timeIntervalSince1970, 0) * 1_000))
      return [
        ("Dunlin-Webhook-Id", webhook.id), ("Dunlin-Delivery-Id", id),
        (WebhookSignature.header, WebhookSignature.value(body, secrets: secrets, at: time)),
      ] + (trace?.headers ?? []).map { (name: $0.name.rawName, value: $0.value) }
    }
  }
#endif
